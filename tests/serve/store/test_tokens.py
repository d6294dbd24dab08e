"""Tokens: shown once, kept as sums."""

from __future__ import annotations

import hashlib

import pytest

from handful.serve.store import Store
from handful.serve.store.errors import BadName, NoSuchToken, TokenExists


def test_a_token_is_told_once_and_kept_as_a_sum(store: Store, store_url: str):
    token = store.add_token("ann", "write")
    assert token.startswith("hf_")
    assert len(token) > 40
    other = store.add_token("bob", "admin")
    assert other != token
    ann, bob = store.tokens()
    assert (ann.name, ann.scope, bob.name, bob.scope) == ("ann", "write", "bob", "admin")
    assert ann.sha256 == hashlib.sha256(token.encode()).hexdigest()
    again = Store.open(store_url)
    assert again.tokens() == [ann, bob]
    again.close()
    assert token not in repr(store.tokens())


def test_a_token_that_was_taken_away_may_be_made_anew(store: Store):
    first = store.add_token("ann", "read")
    with pytest.raises(TokenExists, match="'ann' already"):
        store.add_token("ann", "admin")
    assert [token.scope for token in store.tokens()] == ["read"]
    store.remove_token("ann")
    assert store.tokens() == []
    with pytest.raises(NoSuchToken, match="'ann'"):
        store.remove_token("ann")
    assert store.add_token("ann", "read") != first


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 81, "a\0"])
def test_a_name_that_a_token_cannot_have(store: Store, name: str):
    with pytest.raises(BadName, match="a token"):
        store.add_token(name, "read")
    with pytest.raises(NoSuchToken):
        store.remove_token(name)
    assert store.tokens() == []
