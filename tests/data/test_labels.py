from __future__ import annotations

import pytest

from handful.data.labels import humanised


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("fromloc.city_name", "from location city name"),
        ("airfare.toloc.state_code", "airfare to location state code"),
        ("BookRestaurant.party_size_number", "book restaurant party size number"),
        ("GET_ESTIMATED_ARRIVAL", "get estimated arrival"),
        ("timeRange", "time range"),
        ("HTMLPage2Title", "html page2 title"),
        ("city:departure", "city departure"),
        ("a--b  c", "a b c"),
        ("größeÄnderung", "größe änderung"),
        ("城市", "城市"),
        ("!!", "!!"),
    ],
)
def test_names_read_as_words(label: str, expected: str):
    assert humanised(label) == expected
