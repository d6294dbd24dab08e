"""The same events as TensorBoard files: an extra, `pip install 'handful[tensorboard]'`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handful.errors import ConfigError
from handful.training.events import DevScored, Event, Prepared, StepDone

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter


class Board:
    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise ConfigError("TensorBoard is not installed: pip install 'handful[tensorboard]'") from error
        # The first event's step says where a resumed run begins: what was written beyond that is not to be shown twice.
        self._open = lambda first_step: SummaryWriter(str(folder), purge_step=first_step)
        self._writer: SummaryWriter | None = None

    def add(self, event: Event) -> None:
        if isinstance(event, Prepared):
            return
        if self._writer is None:
            self._writer = self._open(event.step)
        match event:
            case StepDone():
                values = {"loss": event.loss, **event.parts}
                for name, value in values.items():
                    self._writer.add_scalar(f"train/{name}", value, event.step)
                self._writer.add_scalar("train/learning_rate", event.learning_rate, event.step)
                self._writer.add_scalar("train/gradient_norm", event.gradient_norm, event.step)
            case DevScored():
                for name, value in event.scores.items():
                    self._writer.add_scalar(f"dev/{name}", value, event.step)
            case _:
                pass
        # At once, as the log is: a run may be stopped after any event.
        self._writer.flush()
