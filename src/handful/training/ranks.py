"""One process or many: under torchrun each rank takes its share of a step's episodes, and gradients are added up.

Not DistributedDataParallel: episodes touch different parameters, and its hooks expect every gradient every time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from torch import Tensor, distributed, nn

from handful.errors import ConfigError

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Ranks:
    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """The one that writes and speaks."""
        return self.rank == 0

    def share(self, items: Sequence[Item]) -> Sequence[Item]:
        """Every count-th item, from this rank's own place on."""
        return items[self.rank :: self.count]

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """The sum over ranks; a parameter that this rank's episodes did not touch counts as nought."""
        if self.count == 1:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        for parameter in trained:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        # One message for all of them: many small ones would cost more than the sums.
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in trained if parameter.grad is not None])
        distributed.all_reduce(flat)
        start = 0
        for parameter in trained:
            parameter.grad = flat[start : start + parameter.numel()].view_as(parameter)
            start += parameter.numel()

    def add(self, values: Tensor) -> Tensor:
        """The sum over ranks of a tensor that every rank has."""
        if self.count > 1:
            distributed.all_reduce(values)
        return values

    def wait(self) -> None:
        if self.count > 1:
            distributed.barrier()


@contextmanager
def joined_ranks(device: Literal["cpu", "cuda"] = "cpu") -> Iterator[Ranks]:
    """This process's place among those that torchrun started; alone where it started none.

    Tensors are made on `device` from here on; on GPUs each process has its own.
    """
    if device == "cuda":
        if not torch.cuda.is_available():
            raise ConfigError("found no GPU that torch can use; --device cpu needs none")
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        torch.set_default_device(device)
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Ranks()
        return
    distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield Ranks(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()
