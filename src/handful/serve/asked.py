"""What comes in under /v1, as OpenAPI tells it. Unknown keys are errors: they are typing mistakes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictInt,
    StrictStr,
    model_validator,
)


def _number_or_word(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected auto, off, or a number from 0 to 1")
    return value


class Given(BaseModel):
    """Of requests."""

    model_config = ConfigDict(extra="forbid", str_max_length=100_000)


def _whole(text: str) -> str:
    """What a database cannot keep is told before it is asked to; half characters are refused without this."""
    if "\0" in text:
        raise ValueError("found the character NUL, expected text")
    return text


Name = Annotated[StrictStr, Field(min_length=1, max_length=200), AfterValidator(_whole)]
# A sentence's own limit is a setting of the server; this one keeps nonsense out of the schema.
Text = Annotated[StrictStr, Field(max_length=100_000), AfterValidator(_whole)]
Offset = Annotated[StrictInt, Field(ge=0, le=1_000_000)]
Count = Annotated[StrictInt, Field(ge=1, le=50)]
Threshold = Annotated[
    Literal["auto", "off"] | Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)], BeforeValidator(_number_or_word)
]


class GivenSlot(Given):
    slot: Name
    start: Offset = Field(description="The first character, counted in code points.")
    end: Offset = Field(description="One past the last.")
    value: Text | None = None
    role: Name | None = None
    group: Name | None = None


class _Marked(Given):
    text: Text | None = Field(None, description="The sentence, as it is; its slots stand in `slots`.")
    slots: list[GivenSlot] = Field(default_factory=list, max_length=500)
    marked: Text | None = Field(None, description="In place of both: `fly to [Oslo](city)`.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.text is None) == (self.marked is None):
            raise ValueError("expected either 'text' (with 'slots') or 'marked'")
        if self.marked is not None and self.slots:
            raise ValueError("found 'slots' beside 'marked', which has its own")
        return self


class OwnExample(_Marked):
    """Of an intent that is named elsewhere."""


class GivenExample(_Marked):
    intent: Name


class GivenExamples(Given):
    examples: list[GivenExample] = Field(min_length=1, max_length=5000)


class GivenBot(Given):
    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$")]
    starter: bool = Field(False, description="Begin with the bot that comes with handful.")


class _Change(Given):
    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError(f"expected at least one of {', '.join(type(self).model_fields)}")
        return self


class BotChange(_Change):
    threshold: Threshold | None = None
    descriptions: dict[Name, Text | None] | None = Field(None, description="What labels mean; null takes one away.")


class GivenIntent(Given):
    name: Name
    description: Text | None = None
    examples: list[OwnExample] = Field(default_factory=list, max_length=5000)


class IntentChange(_Change):
    name: Name | None = Field(None, description="A new name.")
    description: Text | None = Field(None, description="What it means; null takes it away.")


class GivenText(Given):
    text: Text


class GivenTexts(Given):
    texts: list[Text] = Field(min_length=1, max_length=500)


class Asked(GivenText):
    count: Count = 3


class Pool(Given):
    texts: list[Text] = Field(min_length=1, max_length=3000, description="Sentences that people said.")
    count: Count = 10


class Restoring(Given):
    version: Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]
