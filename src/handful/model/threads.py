"""numpy's threads, out of the way of others': products as small as ours want one."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

try:
    from threadpoolctl import ThreadpoolController
except ImportError:  # an exported bot has none; its parse.py asks numpy's library for one thread before it is loaded
    ThreadpoolController = None


def one_blas_thread() -> AbstractContextManager[object]:
    """While this is entered, numpy computes in one thread. Its threads and those of torch or ONNX Runtime would take
    turns in waiting for each other: a sentence would take ten times as long now and then."""
    controller = _controller()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


def one_blas_thread_for_good() -> None:
    """The same until the process ends: where several threads parse at a time, one that leaves must not undo it."""
    if (controller := _controller()) is not None:
        controller.limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """Looks for numpy's libraries once; torch's own threads are none of its business."""
    return None if ThreadpoolController is None else ThreadpoolController()
