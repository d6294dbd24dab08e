"""Options of commands that train many runs: who trains them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.bench.engines import Engine
    from handful.bench.work import Means
    from handful.training.config import RunConfig

EngineName = Annotated[Literal["here", "ray"], typer.Option("--engine", help="Who trains: this machine, or Ray.")]
Address = Annotated[str | None, typer.Option("--address", help="Of a Ray cluster; else one is started here.")]
Cpus = Annotated[float, typer.Option("--cpus", min=0.1, help="Processors of a Ray task.")]
Memory = Annotated[int, typer.Option("--memory-mb", min=1, help="Memory of a Ray task.")]


def refuse_engine(engine: str, address: str | None, cpus: float, threads: int) -> None:
    if engine != "ray" and address is not None:
        raise ConfigError("found --address without --engine ray, expected both or neither")
    if engine == "ray" and threads > cpus:
        raise ConfigError(f"a run has {threads} threads and asks for {cpus:g} processors: raise --cpus, or --threads 1")


def ray_engine(means: Means, configs: Sequence[RunConfig], address: str | None, cpus: float, memory_mb: int) -> Engine:
    """Only the corpora that these runs name are read, and sent."""
    from handful.bench.ray_engine import Needs, on_ray

    names = dict.fromkeys(name for config in configs for name in config.corpora)
    return on_ray(means, {name: means.corpus(name) for name in names}, Needs(cpus, memory_mb), address)
