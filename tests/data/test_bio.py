from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.data.bio import illegal_positions, mended, slots_of, split_tag, tags_of
from handful.types import Slot

TAGS = st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"]), min_size=1, max_size=12)


@given(TAGS)
def test_mending_makes_tags_legal_and_keeps_the_spans(tags: list[str]):
    legal = mended(tags)
    assert illegal_positions(legal) == []
    assert slots_of(legal) == slots_of(tags)


@given(TAGS)
def test_spans_and_legal_tags_are_two_sides_of_one_thing(tags: list[str]):
    legal = mended(tags)
    assert tags_of(slots_of(legal), len(legal)) == legal


def test_an_i_that_continues_nothing_opens_a_span():
    assert slots_of(["I-a", "I-a", "I-b", "O", "I-b"]) == (Slot("a", 0, 2), Slot("b", 2, 3), Slot("b", 4, 5))


def test_two_spans_of_one_label_side_by_side_stay_two():
    assert slots_of(["B-a", "B-a", "I-a"]) == (Slot("a", 0, 1), Slot("a", 1, 3))


def test_labels_may_hold_dashes():
    assert split_tag("B-geo-city") == ("B", "geo-city")


@pytest.mark.parametrize("tag", ["", "B", "B-", "b-city", "E-city", "city", "O-city", "B- "])
def test_what_is_no_tag_is_refused(tag: str):
    with pytest.raises(ValueError, match="expected O, B-label or I-label"):
        split_tag(tag)
