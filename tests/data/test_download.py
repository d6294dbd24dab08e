from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import Answer, Server, files_in, get, retries, serving, sha256

from handful.data.download import AlreadyThere, FileDone, FileStarted, Progress, fetch
from handful.data.sources import DataFile, DataSet, verify
from handful.errors import DownloadError

CONTENT = bytes(range(256)) * 1200  # 307,200 bytes: several blocks
HALF = len(CONTENT) // 2
PATH = "toy/train/seq.in"
ADDRESS = "/owner/repo/commit/seq.in"

TOY = DataSet("toy", "", "", "", (DataFile(PATH, f"https://example.invalid{ADDRESS}", sha256(CONTENT)),))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving({ADDRESS: CONTENT}) as running:
        yield running


def leave_part(directory: Path, content: bytes) -> Path:
    part = directory / f"{PATH}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    return part


def test_a_good_fetch_brings_the_bytes_and_leaves_no_part(server: Server, tmp_path: Path):
    events = get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {PATH: CONTENT}
    assert verify(TOY, tmp_path) == []
    assert events[0] == FileStarted(PATH, server.url + ADDRESS)
    assert events[-2:] == [Progress(PATH, len(CONTENT), len(CONTENT)), FileDone(PATH)]
    received = [event.received for event in events if isinstance(event, Progress)]
    assert received == sorted(received)


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path):
    get(TOY, tmp_path, server)
    assert get(TOY, tmp_path, server) == [AlreadyThere(PATH)]
    assert len(server.seen) == 1


def test_a_mirror_may_have_a_folder(server: Server, tmp_path: Path):
    server.files = {f"/folder{ADDRESS}": CONTENT}
    get(TOY, tmp_path, f"{server.url}/folder/")
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_a_part_is_resumed_and_only_the_rest_is_sent(server: Server, tmp_path: Path):
    leave_part(tmp_path, CONTENT[:HALF])
    events = get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {PATH: CONTENT}
    assert [(seen.range, seen.sent) for seen in server.seen] == [(f"bytes={HALF}-", len(CONTENT) - HALF)]
    assert events[1] == Progress(PATH, HALF, len(CONTENT))


def test_a_whole_part_needs_no_request(server: Server, tmp_path: Path):
    leave_part(tmp_path, CONTENT)
    assert get(TOY, tmp_path, server)[-1] == FileDone(PATH)
    assert files_in(tmp_path) == {PATH: CONTENT}
    assert server.seen == []


def test_a_server_that_ignores_ranges_starts_anew(server: Server, tmp_path: Path):
    server.script = [Answer(ranges=False)]
    leave_part(tmp_path, CONTENT[:HALF])
    assert retries(get(TOY, tmp_path, server)) == []
    assert files_in(tmp_path) == {PATH: CONTENT}


@pytest.mark.parametrize("content_range", [f"bytes 0-9/{len(CONTENT)}", "nonsense"])
def test_a_range_that_was_not_asked_for_is_not_appended(content_range: str, server: Server, tmp_path: Path):
    server.script = [Answer(content_range=content_range)]
    leave_part(tmp_path, CONTENT[:HALF])
    assert retries(get(TOY, tmp_path, server, attempts=1)) == [
        f"bytes from {HALF} on were asked for, the server gives '{content_range}'"
    ]
    assert server.ranges == [f"bytes={HALF}-", None]
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_a_part_longer_than_the_file_is_discarded(server: Server, tmp_path: Path):
    leave_part(tmp_path, CONTENT + b"more")
    assert "416" in retries(get(TOY, tmp_path, server, attempts=1))[0]
    assert server.ranges == [f"bytes={len(CONTENT) + 4}-", None]
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_a_spoilt_part_is_found_by_its_sum(server: Server, tmp_path: Path):
    leave_part(tmp_path, b"?" * HALF)
    assert "expected " + sha256(CONTENT) in retries(get(TOY, tmp_path, server))[0]
    assert server.ranges == [f"bytes={HALF}-", None]
    assert files_in(tmp_path) == {PATH: CONTENT}


@pytest.mark.parametrize("stall", [True, False], ids=["stalled", "truncated"])
def test_a_broken_transfer_goes_on_where_it_stopped(stall: bool, server: Server, tmp_path: Path):
    server.script = [Answer(stop_after=1000, stall=stall), Answer(stop_after=500, stall=stall)]
    events = get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {PATH: CONTENT}
    assert server.ranges == [None, "bytes=1000-", "bytes=1500-"]
    expected = "did not answer in time" if stall else "of 307200 bytes"
    assert [expected in reason for reason in retries(events)] == [True, True]


def test_a_server_that_never_finishes_is_given_up_and_its_part_kept(server: Server, tmp_path: Path):
    server.script = [Answer(stop_after=10)] * 3
    with pytest.raises(DownloadError, match=r"after 30 of 307200 bytes \(gave up after 3 attempts"):
        get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {f"{PATH}.part": CONTENT[:30]}


def test_without_a_length_the_end_of_the_stream_is_the_end(server: Server, tmp_path: Path):
    server.script = [Answer(content_length=False)]
    assert Progress(PATH, len(CONTENT), None) in get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_corrupted_once_then_good(server: Server, tmp_path: Path):
    server.script = [Answer(corrupt=True)]
    assert len(retries(get(TOY, tmp_path, server))) == 1
    assert server.ranges == [None, None]
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_lasting_corruption_is_an_error_and_leaves_nothing(server: Server, tmp_path: Path):
    server.script = [Answer(corrupt=True)] * 9
    with pytest.raises(DownloadError) as caught:
        get(TOY, tmp_path, server)
    found = sha256(bytes(byte ^ 0xFF for byte in CONTENT))
    for told in (server.url + ADDRESS, found, sha256(CONTENT), "HANDFUL_MIRROR", str(tmp_path / PATH)):
        assert told in str(caught.value)
    assert len(server.seen) == 2
    assert files_in(tmp_path) == {}


def test_closing_midway_leaves_a_part_that_the_next_fetch_resumes(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("no_proxy", "*")
    events = fetch(TOY, tmp_path, mirror=server.url, timeout=0.3, attempts=1, pause=0.0)
    arrived = next(event.received for event in events if isinstance(event, Progress) and event.received)
    events.close()  # pyright: ignore[reportAttributeAccessIssue]  (an Iterator to callers, a generator in truth)
    assert 0 < arrived < len(CONTENT)
    assert files_in(tmp_path) == {f"{PATH}.part": CONTENT[:arrived]}
    get(TOY, tmp_path, server)
    assert server.ranges == [None, f"bytes={arrived}-"]
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_a_wrong_file_is_refused_and_left_untouched(server: Server, tmp_path: Path):
    target = tmp_path / PATH
    target.parent.mkdir(parents=True)
    target.write_bytes(b"mine")
    with pytest.raises(DownloadError, match=f"{re.escape(str(target))}.*{sha256(b'mine')}.*move it away"):
        get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {PATH: b"mine"}
    assert server.seen == []


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_client_error_is_told_at_once(status: int, server: Server, tmp_path: Path):
    server.script = [Answer(status=status)] * 9
    with pytest.raises(DownloadError, match=f"{ADDRESS}: HTTP {status} .*by hand"):
        get(TOY, tmp_path, server)
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_trouble_is_tried_again(status: int, server: Server, tmp_path: Path):
    server.script = [Answer(status=status)]
    assert f"HTTP {status}" in retries(get(TOY, tmp_path, server))[0]
    assert files_in(tmp_path) == {PATH: CONTENT}


def test_redirects_are_followed_with_the_range(server: Server, tmp_path: Path):
    server.script = [Answer(status=302, location=ADDRESS)]
    leave_part(tmp_path, CONTENT[:HALF])
    get(TOY, tmp_path, server)
    assert server.ranges == [f"bytes={HALF}-"] * 2
    assert files_in(tmp_path) == {PATH: CONTENT}


@pytest.mark.parametrize("location", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_a_redirect_leads_nowhere_but_to_http(location: str, server: Server, tmp_path: Path):
    server.script = [Answer(status=302, location=location)] * 9
    with pytest.raises(DownloadError, match=r"302|unknown url type"):
        get(TOY, tmp_path, server)
    assert files_in(tmp_path) == {}


def test_no_network_is_told_with_what_to_do(tmp_path: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        mirror = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(DownloadError, match=f"{mirror}{ADDRESS}: .*refused.*HANDFUL_MIRROR.*by hand"):
            get(TOY, tmp_path, mirror)


@pytest.mark.parametrize("mirror", ["ftp://host", "file:///tmp", "host.example", "http://", ""])
def test_only_http_mirrors(mirror: str, tmp_path: Path):
    with pytest.raises(DownloadError, match="must begin with http"):
        get(TOY, tmp_path, mirror)


def test_a_disk_error_is_a_download_error(server: Server, tmp_path: Path):
    (tmp_path / "toy").write_bytes(b"a file where a folder should be")
    with pytest.raises(DownloadError, match=f"cannot read or write in {re.escape(str(tmp_path))}"):
        get(TOY, tmp_path, server)


def test_a_full_disk_is_told_and_not_tried_again(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DownloadError, match=r"No space left.*Make room"):
        get(TOY, tmp_path, server)
    assert len(server.seen) == 1
    assert PATH not in files_in(tmp_path)
