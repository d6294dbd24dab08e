"""`handful store` as a user runs it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.data.formats.markup import parse_example
from handful.serve.store import Store
from handful.serve.store.values import Change, NewExample

Run = Callable[..., Any]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where the user is; no store is named in the environment."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("HANDFUL_STORE", raising=False)
    return folder


@pytest.fixture
def full(here: Path) -> Path:
    """A store with a bot, where the commands look for it by themselves."""
    store = Store.open("handful.db")
    example = NewExample(parse_example("fly to [Oslo](city)", "fly"))
    store.create("travel", Change(add=(example,), add_intents=("greet",)), what="made", by=None)
    store.close()
    return here / "handful.db"


def told(done: Any) -> str:
    """An error in a line or two, without a traceback; lines are as wide as the terminal."""
    assert done.code in {1, 2}, done.out
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    return " ".join(done.err.split())


def test_bots_are_listed(full: Path, run: Run):
    done = run("store", "bots")
    assert done.code == 0
    assert done.out.startswith("travel  version 1, 2 intents, 1 examples, 20")
    assert done.err == ""
    assert run("store", "bots", "--store", str(full)).out == done.out
    assert run("store", "bots", "--store", f"sqlite:///{full}").out == done.out


def test_the_store_may_be_named_in_the_environment(
    full: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HANDFUL_STORE", str(full))
    monkeypatch.chdir(tmp_path)
    assert run("store", "bots").out.startswith("travel")
    assert list(tmp_path.glob("*.db")) == []


def test_an_empty_store_is_no_error(here: Path, run: Run):
    Store.open("handful.db").close()
    done = run("store", "bots")
    assert (done.code, done.out) == (0, "")
    assert "there is no bot yet" in done.err
    assert "there is no token" in run("store", "token", "list").err


@pytest.mark.parametrize(
    "words", [["bots"], ["backup", "b.gz"], ["token", "list"], ["token", "remove", "ann"], ["restore", "no.gz"]]
)
def test_a_store_that_is_not_there_is_not_made(here: Path, run: Run, words: list[str]):
    assert "there is no such file" in told(run("store", *words))
    assert list(here.iterdir()) == []


def test_there_and_back(full: Path, here: Path, run: Run):
    token = run("store", "token", "add", "ann", "--scope", "admin").out
    done = run("store", "backup", "b.gz")
    assert done.code == 0
    assert "b.gz: 1 bots, 1 versions, 2 intents, 1 examples, 1 rests, 1 tokens" in " ".join(done.out.split())
    before = (here / "b.gz").read_bytes()
    assert "b.gz is already there and was left as it is" in told(run("store", "backup", "b.gz"))
    assert (here / "b.gz").read_bytes() == before
    back = run("store", "restore", "b.gz", "--store", "second.db")
    assert back.code == 0, back.err
    assert "second.db: 1 bots" in back.out
    assert run("store", "bots", "--store", "second.db").out == run("store", "bots").out
    assert "has bots already, expected an empty store" in told(run("store", "restore", "b.gz", "--store", "second.db"))
    assert "has bots already" in told(run("store", "restore", "b.gz"))
    store = Store.open("second.db")
    assert [row.name for row in store.tokens()] == ["ann"]
    assert store.read("travel").examples
    store.close()
    assert token.startswith("hf_")


def test_what_is_no_backup_restores_nothing(here: Path, run: Run):
    (here / "notes.txt").write_text("milk, eggs\n")
    assert "notes.txt: is no backup of a store, or is damaged" in told(run("store", "restore", "notes.txt"))
    assert "there is no such file" in told(run("store", "restore", "."))
    done = run("store", "bots")
    assert done.out == ""


def test_a_backup_cannot_be_written_everywhere(full: Path, here: Path, run: Run):
    assert "cannot be written: No such file or directory" in told(run("store", "backup", "no/b.gz"))
    assert "is already there" in told(run("store", "backup", "."))
    assert {path.name for path in here.iterdir()} <= {"handful.db", "handful.db-wal", "handful.db-shm"}


def test_tokens_are_made_listed_and_taken_away(here: Path, run: Run):
    made = run("store", "token", "add", "ann")
    assert made.code == 0, made.err
    token = made.out.strip()
    assert token.startswith("hf_")
    assert " " not in token, "what is piped on is the token alone"
    assert "the token of 'ann', with the scope read; it cannot be shown again" in " ".join(made.err.split())
    assert run("store", "token", "add", "bob", "--scope", "write").code == 0
    listed = run("store", "token", "list").out
    assert [line.split(",")[0] for line in listed.splitlines()] == ["ann  read", "bob  write"]
    assert token not in listed
    assert "there is a token 'ann' already" in told(run("store", "token", "add", "ann"))
    assert "'ann' is gone" in run("store", "token", "remove", "ann").out
    assert "there is no token 'ann'" in told(run("store", "token", "remove", "ann"))
    assert "found 'a b' as the name of a token, expected up to 80" in told(run("store", "token", "add", "a b"))
    assert run("store", "token", "list").out.startswith("bob")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["token", "add", "ann", "--scope", "root"], "'root' is not one of 'read', 'write', 'admin'"),
        (["token", "add"], "Missing argument 'NAME'"),
        (["backup"], "Missing argument 'FILE'"),
        (["restor", "b.gz"], "No such command 'restor'"),
        (["bots", "--stor", "x.db"], "No such option: --stor"),
        (["bots", "--store", "mysql://u:secret@h/db"], "found a database of the kind 'mysql'"),
        (["bots", "--store", "sqllite:///x.db"], "found a database of the kind 'sqllite'"),
        (["bots", "--store", ""], "found no URL of a database"),
        (["token", "add", "ann", "--store", ""], "found no URL of a database"),
        (["bots", "--store", "postgresql://u:secret@127.0.0.1:1/db"], "the database cannot be reached"),
        (["token", "add", "ann", "--store", "no/folder/x.db"], "cannot be opened: is its folder there"),
    ],
)
def test_mistakes_are_told_in_a_line(here: Path, run: Run, words: list[str], message: str):
    error = told(run("store", *words))
    assert message in error
    assert "secret" not in error
    assert list(here.iterdir()) == []


def test_what_is_no_store_is_left_alone(here: Path, run: Run):
    (here / "notes.db").write_text("milk, eggs\n" * 100)
    assert "is no database of SQLite" in told(run("store", "bots", "--store", "notes.db"))
    assert (here / "notes.db").read_text() == "milk, eggs\n" * 100
    with sqlite3.connect(here / "other.db") as other:
        other.execute("CREATE TABLE customers (name TEXT)")
    other.close()
    assert "has the table 'customers' and is no store" in told(run("store", "token", "add", "a", "--store", "other.db"))


def test_help_says_what_there_is(run: Run):
    assert {"backup", "restore", "bots", "token"} <= set(run("store", "--help").out.split())
    assert {"add", "list", "remove"} <= set(run("store", "token", "--help").out.split())
    assert "HANDFUL_STORE" in run("store", "backup", "--help").out
