from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from encoders.store_worker import (
    NAME,
    arrays_of,
    assert_right,
    no_warnings,
    numbered,
    refuse,
    stored,
    the_file,
    worker,
)
from handful.encoders.store import ArrayStore
from handful.types import Words

# Damage: flips of a byte, cuts, runs of zeros; at any place of the file.
DAMAGE = st.one_of(
    st.tuples(st.just("flip"), st.floats(0, 1, exclude_max=True), st.integers(1, 255)),
    st.tuples(st.just("cut"), st.floats(0, 1, exclude_max=True), st.just(0)),
    st.tuples(st.just("zero"), st.floats(0, 1, exclude_max=True), st.integers(1, 2000)),
    st.tuples(st.just("grow"), st.just(0.0), st.integers(1, 500)),
)


def damage(file: Path, kind: str, where: float, amount: int) -> None:
    """In place, as a failing disk does it: those who have the file open see it."""
    content = bytearray(file.read_bytes())
    position = int(where * len(content))
    with file.open("r+b") as opened:
        opened.seek(position)
        match kind:
            case "flip" if content:
                opened.write(bytes([content[position] ^ amount]))
            case "cut":
                opened.truncate(position)
            case "zero":
                opened.write(bytes(min(amount, len(content) - position)))
            case "grow":
                opened.seek(0, os.SEEK_END)
                opened.write(random.Random(amount).randbytes(amount))


@settings(max_examples=250, deadline=None)
@given(st.lists(DAMAGE, min_size=1, max_size=4))
def test_whatever_happens_to_the_file_the_arrays_are_right(
    tmp_path_factory: pytest.TempPathFactory, damages: list[tuple[str, float, int]]
):
    folder = tmp_path_factory.getbasetemp() / "damaged"
    shutil.rmtree(folder, ignore_errors=True)
    sentences = numbered(12)
    with no_warnings():
        # One that has it open meanwhile and remembers, one that does not, and one that comes later.
        remembering, reading = (ArrayStore(NAME, memory_bytes=size, folder=folder) for size in (1 << 20, 0))
        assert_right(sentences, remembering.get(sentences, arrays_of))
        assert_right(sentences, reading.get(sentences, refuse))
        for kind, where, amount in damages:
            damage(the_file(folder), kind, where, amount)
            assert_right(sentences[:8], reading.get(sentences[:8], arrays_of))
        assert_right(sentences, remembering.get(sentences, refuse))
        assert_right(sentences, ArrayStore(NAME, folder=folder).get(sentences, arrays_of))
        assert_right(sentences, ArrayStore(NAME, folder=folder).get(sentences, refuse))  # and the file is mended
        more = [*sentences, ("more",)]
        assert_right(more, remembering.get(more, arrays_of))
        assert_right(more, reading.get(more, refuse))


def test_a_damaged_header_costs_one_record(tmp_path: Path):
    ArrayStore(NAME, folder=tmp_path).get(numbered(3), arrays_of)
    file = the_file(tmp_path)
    start = file.stat().st_size
    ArrayStore(NAME, folder=tmp_path).get([("damaged",)], arrays_of)
    ArrayStore(NAME, folder=tmp_path).get([("later",)], arrays_of)
    whole = file.read_bytes()
    for place in range(start, start + 60):  # the last four bytes of a header say nothing
        for bit in (1, 128):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            assert stored(tmp_path, [*numbered(3), ("damaged",), ("later",)]) == [*numbered(3), ("later",)]


def test_a_place_that_holds_other_words_by_now_is_not_believed(tmp_path: Path):
    one: Words = ("one",)
    two: Words = ("two",)
    values = {one: np.zeros(9, np.float32), two: np.ones(9, np.float32)}
    for folder, order in (("here", [one, two]), ("there", [two, one])):
        ArrayStore(NAME, folder=tmp_path / folder).get(order, lambda s: [values[words] for words in s])
    reader = ArrayStore(NAME, memory_bytes=0, folder=tmp_path / "here")
    assert [array[0] for array in reader.get([one, two], refuse)] == [0, 1]
    with the_file(tmp_path / "here").open("r+b") as file:
        file.write(the_file(tmp_path / "there").read_bytes())
    found = reader.get([one, two], lambda s: [values[words] for words in s])
    assert [array[0] for array in found] == [0, 1]


def test_a_new_file_that_outgrew_the_old_one_is_noticed(tmp_path: Path):
    reader = ArrayStore(NAME, memory_bytes=0, folder=tmp_path)
    reader.get(numbered(5), arrays_of)
    assert_right(numbered(5), reader.get(numbered(5), refuse))  # it knows the old file to its end
    the_file(tmp_path).unlink()
    ArrayStore(NAME, folder=tmp_path).get(numbered(40)[::-1], arrays_of)
    assert_right(numbered(40), reader.get(numbered(40), refuse))


def test_every_cut_of_the_last_record_is_harmless(tmp_path: Path):
    ArrayStore(NAME, folder=tmp_path).get(numbered(3), arrays_of)
    file = the_file(tmp_path)
    start = file.stat().st_size
    ArrayStore(NAME, folder=tmp_path).get([("last",)], arrays_of)
    whole = file.read_bytes()
    for cut in range(start, len(whole)):
        file.write_bytes(whole[:cut])
        assert stored(tmp_path, [*numbered(3), ("last",)]) == numbered(3)
        ArrayStore(NAME, folder=tmp_path).get([("other",)], arrays_of)
        assert stored(tmp_path, [*numbered(3), ("last",), ("other",)]) == [*numbered(3), ("other",)]


@pytest.mark.parametrize("part", [0.0, 0.0001, 0.5, 1.0])
def test_a_writer_killed_in_mid_record_loses_that_record_only(tmp_path: Path, part: float):
    reader = ArrayStore(NAME, memory_bytes=0, folder=tmp_path)
    killed = worker("torn", tmp_path, part)
    _, errors = killed.communicate(timeout=60)
    assert (killed.returncode, errors) == (-signal.SIGKILL, "")
    large: list[Words] = [("large", str(number)) for number in range(3)]
    assert_right(large[:1], reader.get(large[:1], refuse))
    assert stored(tmp_path, large) == large[: 2 if part == 1.0 else 1]
    size = the_file(tmp_path).stat().st_size
    ArrayStore(NAME, folder=tmp_path).get([("small",)], arrays_of)
    # In place of what was torn: the file does not even grow.
    assert part != 0.5 or the_file(tmp_path).stat().st_size == size
    assert_right(large, reader.get(large, arrays_of))
    assert stored(tmp_path, [("small",), *large]) == [("small",), *large]


def run_beside_each_other(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("count", [300, pytest.param(6000, marks=pytest.mark.slow)])
def test_writers_and_readers_at_once_lose_and_mix_nothing(tmp_path: Path, count: int):
    writers = [worker("fill", tmp_path, seed, count, 1 << 30) for seed in range(4)]
    run_beside_each_other([*writers, *(worker("follow", tmp_path, seed, count) for seed in range(2))])
    assert stored(tmp_path, numbered(count)) == numbered(count)
    # Each was written once, however many computed it.
    alone = tmp_path / "alone"
    ArrayStore(NAME, folder=alone).get(numbered(count), arrays_of)
    assert the_file(tmp_path).stat().st_size == the_file(alone).stat().st_size


@pytest.mark.parametrize("count", [200, pytest.param(6000, marks=pytest.mark.slow)])
def test_writers_at_once_of_a_file_that_is_always_full(tmp_path: Path, count: int):
    run_beside_each_other([worker("fill", tmp_path, seed, count, 10_000) for seed in range(4)])
    assert the_file(tmp_path).stat().st_size <= 10_000
    assert stored(tmp_path, numbered(count))


@pytest.mark.parametrize(
    ("rounds", "writers"),
    [(6, 1), pytest.param(150, 1, marks=pytest.mark.slow), pytest.param(40, 4, marks=pytest.mark.slow)],
)
def test_writers_killed_at_any_moment_lose_nothing_they_had_finished(tmp_path: Path, rounds: int, writers: int):
    rng = random.Random(rounds)
    reader = ArrayStore(NAME, memory_bytes=0, folder=tmp_path)
    promised: list[Words] = []
    for number in range(rounds):
        if number % 20 == 0:  # 256 KB a sentence: begin again before the disk notices
            shutil.rmtree(tmp_path)
            promised.clear()
        started = [worker("endless", tmp_path, 10**6 * (number * writers + one)) for one in range(writers)]
        firsts = [process.stdout.readline() if process.stdout else "" for process in started]
        time.sleep(rng.random() * 0.02)
        for process in started:
            process.send_signal(signal.SIGKILL)
        for one, (process, first) in enumerate(zip(started, firsts, strict=True)):
            output, errors = process.communicate(timeout=60)
            assert (process.returncode, errors) == (-signal.SIGKILL, "")
            done = int([first, *output.splitlines(keepends=True)][-1])
            start = 10**6 * (number * writers + one)
            promised += [("large", str(which)) for which in range(start, done)]
        assert_right(promised, reader.get(promised, refuse))
        assert_right([("after", str(number))], reader.get([("after", str(number))], arrays_of))
        promised.append(("after", str(number)))
    assert stored(tmp_path, promised) == promised
    shutil.rmtree(tmp_path)  # pytest would keep it


def test_what_is_not_a_file_is_replaced_or_left_alone(tmp_path: Path):
    ArrayStore(NAME, folder=tmp_path).get(numbered(5), arrays_of)
    file = the_file(tmp_path)
    file.unlink()
    os.mkfifo(file)
    assert_right(numbered(5), ArrayStore(NAME, folder=tmp_path).get(numbered(5), arrays_of))
    assert_right(numbered(5), ArrayStore(NAME, folder=tmp_path).get(numbered(5), refuse))
    file.unlink()
    file.mkdir()
    with pytest.warns(UserWarning, match="memory only"):
        assert_right(numbered(5), ArrayStore(NAME, folder=tmp_path).get(numbered(5), arrays_of))


def test_a_full_disk_is_warned_of_once(tmp_path: Path):
    # The process may write no file beyond 20000 bytes: its writes end in the middle, as on a full disk.
    output, errors = worker("full", tmp_path, 20_000).communicate(timeout=60)
    assert errors == ""
    assert [line.split(": ")[0] for line in output.splitlines()] == [str(the_file(tmp_path))]
    assert "File too large" in output
    found = stored(tmp_path, numbered(200))
    assert found == numbered(200)[: len(found)] != []
    assert_right(numbered(200), ArrayStore(NAME, folder=tmp_path).get(numbered(200), arrays_of))
    assert stored(tmp_path, numbered(200)) == numbered(200)


def test_the_folder_may_vanish_under_a_store(tmp_path: Path):
    store = ArrayStore(NAME, memory_bytes=0, folder=tmp_path / "folder")
    for _ in range(3):
        assert_right(numbered(5), store.get(numbered(5), arrays_of))
        assert_right(numbered(5), store.get(numbered(5), refuse))
        shutil.rmtree(tmp_path / "folder")


def test_the_file_of_another_name_is_not_believed(tmp_path: Path):
    for name in ("one", "two"):
        ArrayStore(name, folder=tmp_path / name).get(numbered(3), lambda s: [np.zeros(2, np.float32) for _ in s])
    shutil.copy(the_file(tmp_path / "one"), the_file(tmp_path / "two"))
    assert_right(numbered(3), ArrayStore("two", folder=tmp_path / "two").get(numbered(3), arrays_of))
    assert_right(numbered(3), ArrayStore("two", folder=tmp_path / "two").get(numbered(3), refuse))
