"""Fetch a data set: resumable, checked against pinned sums, never over a file that is already there."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from handful.data.archive import ArchiveError, members
from handful.data.sources import Archive, DataFile, DataSet, sum_of
from handful.data.transfer import BrokenError, RefusedError, UnresumableError, receive
from handful.errors import DownloadError

_HTTP = re.compile(r"https?://[^/?#]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileStarted:
    path: str
    url: str


@dataclass(frozen=True, slots=True)
class Progress:
    path: str
    received: int  # bytes, those of earlier attempts included
    total: int | None


@dataclass(frozen=True, slots=True)
class FileDone:
    path: str


@dataclass(frozen=True, slots=True)
class AlreadyThere:
    path: str


@dataclass(frozen=True, slots=True)
class Retrying:
    path: str
    reason: str


Event = FileStarted | Progress | FileDone | AlreadyThere | Retrying


@dataclass(frozen=True, slots=True)
class _Patience:
    timeout: float  # seconds of silence that end an attempt
    attempts: int
    pause: float  # seconds before the second attempt; doubled before each further one


def fetch(
    data_set: DataSet,
    directory: Path,
    *,
    mirror: str | None = None,
    timeout: float = 30.0,
    attempts: int = 5,
    pause: float = 1.0,
) -> Iterator[Event]:
    """Bring the files of `data_set` that `directory` lacks; closing the generator leaves what can be resumed.

    `mirror` ("https://host" or "https://host/folder") stands in for the scheme and host of every address.
    Whatever goes wrong is a DownloadError.
    """
    if attempts < 1:
        raise ValueError(f"attempts must be at least 1, not {attempts}")
    patience = _Patience(timeout, attempts, pause)
    try:
        # All files are looked at before the first request: a refusal comes at once.
        lacking = [file for file in data_set.files if not _is_there(file, directory)]
        for file in data_set.files:
            if file not in lacking:
                yield AlreadyThere(file.path)
        if lacking and data_set.not_fetched is not None:
            raise DownloadError(
                f"{lacking[0].path} is not in {directory}, and there is nothing to fetch: {data_set.not_fetched}"
            )
        for file in lacking:
            if file.url is not None:
                yield from _fetch_file(file, _address(file.url, mirror), directory, patience)
        packed = [file for file in lacking if file.url is None]
        if packed and data_set.archive is not None:
            url = _address(data_set.archive.url, mirror)
            yield from _fetch_packed(packed, data_set.archive, url, directory, patience)
    except OSError as error:
        # The network's own errors never come this far: this is the disk.
        raise DownloadError(
            f"{data_set.name}: cannot read or write in {directory}: {error}. "
            "Make room or mend the permissions, or choose another data directory."
        ) from error


def _is_there(file: DataFile, directory: Path) -> bool:
    target = directory / file.path
    if not target.exists():
        return False
    found = sum_of(target)
    if found != file.sha256:
        raise DownloadError(
            f"{target} is there but is not the file expected: its sha256 is {found}, expected {file.sha256}. "
            "It was left as it is; move it away and try again."
        )
    return True


def _address(url: str, mirror: str | None) -> str:
    split = urlsplit(url)
    if mirror is not None:
        url = mirror.rstrip("/") + split.path + (f"?{split.query}" if split.query else "")
    if not _HTTP.match(url):
        source = "the address" if mirror is None else "the mirror"
        raise DownloadError(f"{url}: {source} must begin with http:// or https:// and a host")
    return url


def _fetch_file(file: DataFile, url: str, directory: Path, patience: _Patience) -> Iterator[Event]:
    def fault(part: Path) -> str | None:
        found = sum_of(part)
        return None if found == file.sha256 else f"its sha256 is {found}, expected {file.sha256}"

    target = directory / file.path
    part = _part(target)
    by_hand = f"copy the file by hand to {target}"
    yield FileStarted(file.path, url)
    yield from _fill(part, file.path, url, fault, by_hand, patience)
    part.replace(target)
    yield FileDone(file.path)


def _fetch_packed(
    files: Sequence[DataFile], archive: Archive, url: str, directory: Path, patience: _Patience
) -> Iterator[Event]:
    def fault(part: Path) -> str | None:
        try:
            members(part, files, archive.largest_member)
        except ArchiveError as problem:
            return str(problem)
        return None

    zipped = _part(directory / archive.path)
    by_hand = f"copy {', '.join(file.path for file in files)} by hand into {directory}"
    yield FileStarted(archive.path, url)
    yield from _fill(zipped, archive.path, url, fault, by_hand, patience)
    for file, content in members(zipped, files, archive.largest_member).items():
        target = directory / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(_part(target), content)
        _part(target).replace(target)
        yield FileDone(file.path)
    zipped.unlink()


def _fill(
    part: Path,
    name: str,
    url: str,
    fault: Callable[[Path], str | None],
    by_hand: str,
    patience: _Patience,
) -> Iterator[Event]:
    """Receive into `part` until it is whole and `fault` finds nothing against it."""
    advice = f"Check the network, set a mirror with HANDFUL_MIRROR, or {by_hand}."
    part.parent.mkdir(parents=True, exist_ok=True)
    # An earlier run may have ended between the last byte and the renaming.
    if part.exists() and fault(part) is None:
        return
    failures, mismatches = 0, 0
    while True:
        try:
            with closing(receive(url, part, patience.timeout)) as extents:
                for extent in extents:
                    yield Progress(name, extent.received, extent.total)
        except RefusedError as error:
            raise DownloadError(f"{url}: {error}. {advice}") from error
        except UnresumableError as error:
            # No harm to the count of attempts: without a part there is no range to disagree on.
            part.unlink()
            yield Retrying(name, str(error))
            continue
        except BrokenError as error:
            failures += 1
            if failures == patience.attempts:
                tried = f"gave up after {failures} attempts; what arrived is kept for the next run"
                raise DownloadError(f"{url}: {error} ({tried}). {advice}") from error
            yield Retrying(name, str(error))
            time.sleep(patience.pause * 2 ** (failures - 1))
            continue
        found = fault(part)
        if found is None:
            return
        part.unlink()
        mismatches += 1
        # Once may be a spoilt part of an earlier run; twice is what the server has.
        if mismatches == 2:
            raise DownloadError(f"{url}: not the file expected: {found}. {advice}")
        yield Retrying(name, found)


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
