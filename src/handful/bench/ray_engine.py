"""Runs as tasks of a Ray cluster: each asks for its own processors and memory, and is done again where a machine is
lost. An extra: pip install 'handful[ray]'.

What travels how, on purpose:
  data          is read once, by whoever starts the grid, and goes to the workers through Ray's object store; a worker
                needs no data folder
  encoders      are looked for on the worker: by their package, or in the worker's HANDFUL_WEIGHTS
  run folders   are written where the grid was told to. On a path that all machines share, a run that lost its worker
                goes on from its last epoch elsewhere; without one it begins anew
  checkpoints   come back through the object store with the results, and are written to the run's folder here, unless
                the path is shared and they are there already; a run that came so is complete, and is not trained again

Ray moves values between its processes as pickles: a cluster is yours, or it is not to be used.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handful.bench.engines import Engine
from handful.bench.work import Done, Failed, Means, Work, do
from handful.data.corpora import Corpus
from handful.errors import ConfigError
from handful.training import sweep
from handful.training.config import RunConfig
from handful.training.run import HELD, LOG, RunFolder

_ANSWER_SECONDS = 10.0
_HELD_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Needs:
    """Of one task."""

    cpus: float = 2
    memory_mb: int = 2000
    retries: int = 3  # after the loss of a worker or of its machine


@dataclass(frozen=True, slots=True)
class _Delivered:
    end: Done | Failed
    files: Mapping[str, bytes]  # of the run's folder: its checkpoint, log and settings


def require_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ConfigError("--engine ray needs a package that is not installed: pip install 'handful[ray]'") from error
    return ray


def on_ray(means: Means, corpora: Mapping[str, Corpus], needs: Needs, address: str | None = None) -> Engine:
    """An engine on the cluster at `address`; without one, Ray is started on this machine for as long as it lasts."""
    ray = require_ray()

    def run(works: Sequence[Work]) -> Iterator[Done | Failed]:
        began = not ray.is_initialized()
        if began:
            _join(ray, address)
        try:
            yield from _gathered(ray, works, means, corpora, needs)
        finally:
            if began:
                ray.shutdown()

    return run


def _join(ray: Any, address: str | None) -> None:
    if address not in {None, "auto"}:
        _refuse_silence(str(address))
    try:
        # "local": without it Ray looks for whatever cluster was last seen on this machine.
        ray.init(address=address or "local", log_to_driver=False, include_dashboard=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        where = "Ray could not be started here" if address is None else f"--address {address}: no Ray cluster answers"
        raise ConfigError(f"{where}: {reason}") from error


def _refuse_silence(address: str) -> None:
    """Ray itself goes on trying for many minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"--address {address}: expected HOST:PORT of a Ray cluster, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--address {address}: no Ray cluster answers: {error}") from error


def _gathered(
    ray: Any, works: Sequence[Work], means: Means, corpora: Mapping[str, Corpus], needs: Needs
) -> Iterator[Done | Failed]:
    _refuse_what_never_fits(ray, needs)
    data = ray.put(dict(corpora))
    plain = replace(means, corpora=None)
    # A process a task: its peak memory is its own, and its memory goes back to the machine.
    task = ray.remote(max_calls=1)(_deliver).options(
        num_cpus=needs.cpus, memory=needs.memory_mb * 2**20, max_retries=needs.retries
    )
    under_way = {task.remote(work, plain, data, _complete_files(work.folder)): work for work in works}
    try:
        while under_way:
            (ready, *_), _ = ray.wait(list(under_way), num_returns=1)
            work = under_way.pop(ready)
            try:
                delivered: _Delivered = ray.get(ready)
            except ray.exceptions.RayError as error:
                gone = (
                    ray.exceptions.WorkerCrashedError,
                    ray.exceptions.NodeDiedError,
                    ray.exceptions.OutOfMemoryError,
                )
                lost = f"lost {needs.retries + 1} times: " if isinstance(error, gone) else ""
                yield Failed(work, f"{lost}{str(error).strip().splitlines()[-1]}")
                continue
            yield _kept(delivered)
    finally:
        for left in under_way:  # whoever stops the grid stops its tasks
            ray.cancel(left, force=True)


def _kept(delivered: _Delivered) -> Done | Failed:
    """Its files written here. Where that fails the results are not lost with them."""
    end = delivered.end
    try:
        _write_files(end.work.folder, delivered.files)
    except OSError as error:
        if isinstance(end, Done):
            return replace(end, warning=f"{end.work.folder}: its checkpoint could not be written: {error.strerror}")
    return end


def _refuse_what_never_fits(ray: Any, needs: Needs) -> None:
    """A task that no machine can hold would wait for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(n.get("CPU", 0) >= needs.cpus and n.get("memory", 0) >= needs.memory_mb * 2**20 for n in nodes):
        largest = ", ".join(f"{n.get('CPU', 0):g} CPUs and {n.get('memory', 0) / 2**20:.0f} MB" for n in nodes)
        raise ConfigError(
            f"a run needs {needs.cpus:g} CPUs and {needs.memory_mb} MB, and no machine of the cluster has them "
            f"({largest}): lower --cpus or --memory-mb"
        )


def _deliver(work: Work, means: Means, corpora: Mapping[str, Corpus], sent: Mapping[str, bytes]) -> _Delivered:
    """On the worker. `sent` is a run that is complete already, and is only to be scored."""
    _write_files(work.folder, sent)
    end = do(work, replace(means, corpora=corpora))
    # The worker that was lost may take a moment to die, and holds the folder until then.
    deadline = time.monotonic() + _HELD_SECONDS
    while isinstance(end, Failed) and HELD in end.reason and time.monotonic() < deadline:
        time.sleep(0.5)
        end = do(work, replace(means, corpora=corpora))
    return _Delivered(end, {} if isinstance(end, Failed) else _complete_files(work.folder))


def _complete_files(folder: Path) -> dict[str, bytes]:
    """What scoring, parsing and reports need of a run that is complete; not the optimiser's state, twice as large."""
    if not RunFolder(folder).complete():
        return {}
    wanted = [folder / "config.json", folder / LOG, *sorted((folder / "checkpoint").iterdir())]
    return {str(file.relative_to(folder)): file.read_bytes() for file in wanted if file.is_file()}


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """In place of what is there, unless that is complete, as it is on a path that all share. Each file whole or not at
    all, and the log, which tells that a run is complete, after all that it tells of."""
    if not files or RunFolder(folder).complete():
        return
    (folder / "state.json").unlink(missing_ok=True)  # of a run that was begun here, and was not finished here
    for name, content in sorted(files.items(), key=lambda item: item[0] == LOG):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_bytes(content)
        partial.replace(file)


def for_sweep(engine: Engine) -> sweep.Engine:
    """An engine of bench as one of `sweep`: runs that are trained and not scored."""

    def train(configs: Sequence[RunConfig], folder: Path) -> Iterator[sweep.Trained | sweep.Failed]:
        works = [Work(config, folder.absolute() / config.digest()) for config in configs]
        for end in engine(works):
            match end:
                case Done(work=work, about=about):
                    yield sweep.Trained(work.config, work.folder, about)
                case Failed(work=work, reason=reason):
                    yield sweep.Failed(work.config, work.folder, reason)

    return train
