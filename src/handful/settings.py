"""What all settings have in common: frozen, a misspelt key is an error, and `true` is no number."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _no_yes_or_no(cls, value: Any) -> Any:
        # There is no setting that is on or off; pydantic would read `epochs: true` as 1.
        if isinstance(value, bool):
            raise ValueError("expected a value that is not true or false")
        return value
