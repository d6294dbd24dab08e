from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from encoders.store_worker import (
    NAME,
    NotStoredError,
    array_of,
    arrays_of,
    assert_right,
    no_warnings,
    numbered,
    refuse,
    stored,
    the_file,
)
from handful.encoders import store_file
from handful.encoders.encoding import Array
from handful.encoders.store import ArrayStore
from handful.encoders.store_file import key_of
from handful.types import Words


class Counting:
    """Computes, and keeps what each call asked for."""

    def __init__(self) -> None:
        self.calls: list[list[Words]] = []

    def __call__(self, sentences: Sequence[Words]) -> list[Array]:
        self.calls.append(list(sentences))
        return arrays_of(sentences)


def test_what_is_missing_is_computed_in_one_call_and_only_once():
    counting, store = Counting(), ArrayStore(NAME)
    first = store.get([("a",), ("b", "c"), ("a",), ()], counting)
    again = store.get([("d",), ("b", "c"), ("e",), ("a",), ("d",)], counting)
    assert counting.calls == [[("a",), ("b", "c"), ()], [("d",), ("e",)]]
    assert_right([("a",), ("b", "c"), ("a",), ()], first)
    assert_right([("d",), ("b", "c"), ("e",), ("a",), ("d",)], again)
    assert first[0] is first[2] is again[3]
    assert store.get([], refuse) == []


def test_a_new_store_finds_everything_in_the_file(tmp_path: Path):
    folder = tmp_path / "not" / "yet" / "there"
    sentences = [*numbered(60), (), ("",), ("", ""), ("ä\ud800", "\0,;"), ("x" * 10_000,)]
    ArrayStore(NAME, folder=folder).get(sentences, arrays_of)
    store = ArrayStore(NAME, folder=folder)
    assert_right(sentences[::-1], store.get(sentences[::-1], refuse))
    assert_right(sentences, store.get(sentences, refuse))


@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (0, 4), (4, 0), (2, 3, 4), (2, 0, 3), (1, 2, 1, 2, 1, 2, 1)])
def test_shapes_and_values_survive_the_file(tmp_path: Path, shape: tuple[int, ...]):
    array = np.random.default_rng(0).standard_normal(shape, np.float32)
    array[array > 1] = np.nan
    first = ArrayStore(NAME, folder=tmp_path).get([("a",)], lambda _: [array])[0]
    again = ArrayStore(NAME, folder=tmp_path).get([("a",)], refuse)[0]
    for found in (first, again):
        assert found.shape == shape
        assert found.dtype == np.float32
        assert found.tobytes() == array.tobytes()


def test_a_strided_view_is_kept_as_it_looks_and_without_its_batch(tmp_path: Path):
    batch = np.arange(1_000_000, dtype=np.float32).reshape(2, 500, 1000)
    view = batch.transpose(0, 2, 1)[1, :3, ::2]
    expected = view.copy()
    store = ArrayStore(NAME, folder=tmp_path)
    found = store.get([("a",)], lambda _: [view])[0]
    batch[:] = 0
    assert np.array_equal(found, expected)
    assert np.array_equal(ArrayStore(NAME, folder=tmp_path).get([("a",)], refuse)[0], expected)


def test_nobody_can_write_to_what_is_kept(tmp_path: Path):
    counting = Counting()
    for store in (ArrayStore(NAME), ArrayStore(NAME, folder=tmp_path), ArrayStore(NAME, folder=tmp_path)):
        for array in [*store.get(numbered(9), counting), *store.get(numbered(9), refuse)]:
            assert not array.flags.writeable
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)
    assert len(counting.calls) == 2


def test_words_are_not_their_text(tmp_path: Path):
    apart: list[Words] = [("a b",), ("a", "b"), ("ab",), ("a", "", "b"), ("a,b",), ("\ud83d", "\ude00"), ("😀",)]
    apart += [("\ud83d\ude00",), (), ("",), ("1,1;ab",)]
    assert len({key_of(words) for words in apart}) == len(apart)
    counting = Counting()
    ArrayStore(NAME, folder=tmp_path).get(apart, counting)
    assert counting.calls == [apart]
    assert_right(apart, ArrayStore(NAME, folder=tmp_path).get(apart, refuse))


def test_another_name_has_another_file(tmp_path: Path):
    names = ["minilm, 4 layers", "minilm, 5 layers", "minilm, 5 layers\n", ""]
    for number, name in enumerate(names):
        ArrayStore(name, folder=tmp_path).get([("a",)], lambda _, n=number: [np.full(3, n, np.float32)])
    assert len(list(tmp_path.glob("*.arrays"))) == len(names)
    for number, name in enumerate(names):
        assert ArrayStore(name, folder=tmp_path).get([("a",)], refuse)[0].tolist() == [number] * 3


def test_memory_forgets_what_was_used_longest_ago():
    def four(sentences: Sequence[Words]) -> list[Array]:
        asked.extend(sentences)
        return [np.zeros(4, np.float32) for _ in sentences]

    asked: list[Words] = []
    store = ArrayStore(NAME, memory_bytes=2 * 16)
    for word in ("a", "b", "a", "c", "a", "b"):
        store.get([(word,)], four)
    assert asked == [("a",), ("b",), ("c",), ("b",)]
    # Larger than the memory as a whole: comes back whole, and the last stay.
    assert len(store.get(numbered(5), four)) == 5
    store.get(numbered(5)[-2:], refuse)
    # An array that can never stay pushes nothing out.
    store.get([("large",)], lambda _: [np.zeros(100, np.float32)])
    store.get(numbered(5)[-2:], refuse)


def test_memory_holds_no_more_than_it_may(tmp_path: Path):
    store = ArrayStore(NAME, memory_bytes=1 << 20, folder=tmp_path)
    tracemalloc.start()
    for _ in range(2):
        for number in range(40):  # 256 KB each
            store.get([("large", str(number))], arrays_of)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 1 << 20 <= held < 3 << 19


def test_the_file_is_bounded_and_started_anew(tmp_path: Path):
    limit = 20_000
    store, other = (ArrayStore(NAME, memory_bytes=0, folder=tmp_path, file_bytes=limit) for _ in range(2))
    starts = set()
    for words in numbered(300):
        assert_right([words], store.get([words], arrays_of))
        assert_right([words], other.get([words], refuse))  # a reader of the old file finds the new one
        assert the_file(tmp_path).stat().st_size <= limit
        starts.add(the_file(tmp_path).stat().st_mtime_ns)
    assert len(starts) > 1
    assert 0 < len(stored(tmp_path, numbered(300))) < 300
    assert not list(tmp_path.glob("*.new"))


def test_a_file_started_anew_has_the_whole_batch(tmp_path: Path):
    def meanwhile(sentences: Sequence[Words]) -> list[Array]:
        ArrayStore(NAME, folder=tmp_path, file_bytes=20_000).get(sentences[:2], arrays_of)
        return arrays_of(sentences)

    sentences = numbered(20)
    filler = [np.zeros(4500, np.float32)]  # 18000 bytes: two sentences fit beside it, twenty do not
    store = ArrayStore(NAME, folder=tmp_path, file_bytes=20_000)
    store.get([("filler",)], lambda _: filler)
    store.get(sentences, meanwhile)
    assert stored(tmp_path, sentences) == sentences


def test_a_batch_beyond_the_bound_is_written_in_part(tmp_path: Path):
    store = ArrayStore(NAME, memory_bytes=0, folder=tmp_path, file_bytes=20_000)
    assert_right(numbered(300), store.get(numbered(300), arrays_of))
    assert 10_000 < the_file(tmp_path).stat().st_size <= 20_000
    assert len(stored(tmp_path, numbered(300))) > 10


def test_an_array_beyond_the_bound_is_not_written(tmp_path: Path):
    store = ArrayStore(NAME, folder=tmp_path, file_bytes=20_000)
    large: Words = ("large", "0")
    store.get(numbered(10), arrays_of)
    assert_right([large, ("a",)], store.get([large, ("a",)], arrays_of))
    assert stored(tmp_path, [large, ("a",), *numbered(10)]) == [("a",), *numbered(10)]
    ArrayStore("tiny", folder=tmp_path, file_bytes=0).get(numbered(3), arrays_of)
    assert len(list(tmp_path.glob("*.arrays"))) == 1
    with pytest.raises(ValueError, match="expected none below 0"):
        ArrayStore(NAME, file_bytes=-1)


def test_two_stores_learn_from_each_other(tmp_path: Path):
    one, two = (ArrayStore(NAME, folder=tmp_path) for _ in range(2))
    for number, words in enumerate(numbered(30)):
        assert_right([words], (one, two)[number % 2].get([words], arrays_of))
        assert_right([words], (two, one)[number % 2].get([words], refuse))


def test_what_another_wrote_meanwhile_is_not_written_again(tmp_path: Path):
    def meanwhile(sentences: Sequence[Words]) -> list[Array]:
        ArrayStore(NAME, folder=tmp_path).get(numbered(20), arrays_of)
        sizes.append(the_file(tmp_path).stat().st_size)
        return arrays_of(sentences)

    sizes: list[int] = []
    ArrayStore(NAME, folder=tmp_path).get(numbered(20), meanwhile)
    assert sizes == [the_file(tmp_path).stat().st_size]


def test_a_file_in_place_of_the_folder_is_warned_of_once(tmp_path: Path):
    (tmp_path / "folder").write_text("in the way")
    for folder in (tmp_path / "folder", tmp_path / "folder" / "below"):
        with pytest.warns(UserWarning, match=r"folder.*\.arrays: .*memory only.*: \w+") as caught:
            store = ArrayStore(NAME, folder=folder)
        assert len(caught) == 1
        with no_warnings():
            assert_right(numbered(5), store.get(numbered(5), arrays_of))
            assert_right(numbered(9), store.get(numbered(9), arrays_of))
            store.get(numbered(9), refuse)
    assert (tmp_path / "folder").read_text() == "in the way"


def test_a_file_that_cannot_be_written_is_still_read(tmp_path: Path):
    ArrayStore(NAME, folder=tmp_path).get(numbered(5), arrays_of)
    lock = the_file(tmp_path).with_suffix(".lock")
    lock.unlink()
    lock.mkdir()  # root may write anywhere, but not open a folder
    store = ArrayStore(NAME, memory_bytes=0, folder=tmp_path)
    with pytest.warns(UserWarning, match="memory only") as caught:
        assert_right(numbered(9), store.get(numbered(9), arrays_of))
    assert len(caught) == 1
    with no_warnings():
        assert_right(numbered(9), store.get(numbered(9), arrays_of))
        assert_right(numbered(5), store.get(numbered(5), refuse))
        file = the_file(tmp_path)
        file.unlink()
        file.symlink_to(file)  # from here on, it cannot be read either
        assert_right(numbered(9), store.get(numbered(9), arrays_of))


def test_without_file_locks_there_is_only_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.warns(UserWarning, match="fcntl") as caught:
        store = ArrayStore(NAME, folder=tmp_path / "folder")
    assert len(caught) == 1
    with no_warnings():
        assert_right(numbered(5), store.get(numbered(5), arrays_of))
        store.get(numbered(5), refuse)
    assert not (tmp_path / "folder").exists()


def test_a_failed_computation_is_the_callers_and_harms_nothing(tmp_path: Path):
    store = ArrayStore(NAME, folder=tmp_path)
    store.get(numbered(3), arrays_of)
    with pytest.raises(NotStoredError):
        store.get(numbered(6), refuse)
    with pytest.raises(ValueError, match="zip"):
        store.get(numbered(6), lambda sentences: arrays_of(sentences[1:]))
    assert_right(numbered(6), store.get(numbered(6), arrays_of))
    assert stored(tmp_path, numbered(6)) == numbered(6)


def test_closing_leaves_nothing_open(tmp_path: Path):
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").is_dir() else None
    with no_warnings():
        for _ in range(20):
            store = ArrayStore(NAME, folder=tmp_path)
            assert_right(numbered(5), store.get(numbered(5), arrays_of))
            kept = store.get(numbered(5), refuse)
            store.close()
            store.close()
            assert_right(numbered(5), kept)  # what was handed out outlives the store
            assert_right(numbered(5), store.get(numbered(5), refuse))  # and the store can be used again
            del store  # not closed: nothing leaks all the same
    if before is not None:
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_hits_are_fast(tmp_path: Path):
    """Loose bounds, for a busy machine: what is in memory is neither hashed by sha256 nor looked up on disk."""
    sentences = [tuple(f"word{place}" for place in range(number, number + 15)) for number in range(60)]
    array = array_of(("large",))[:15, :384].copy()
    ArrayStore(NAME, folder=tmp_path).get(sentences, lambda s: [array] * len(s))

    def quickest(memory_bytes: int) -> float:
        store = ArrayStore(NAME, memory_bytes=memory_bytes, folder=tmp_path)
        store.get(sentences, refuse)
        times = []
        for _ in range(20):
            start = time.perf_counter()
            store.get(sentences, refuse)
            times.append(time.perf_counter() - start)
        return min(times)

    assert quickest(1 << 30) < 0.001
    assert quickest(0) < 0.02


def test_a_lock_that_is_never_let_go_holds_up_nobody_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A process that was suspended while it wrote."""
    fcntl = pytest.importorskip("fcntl", reason="this platform has no file locks")
    monkeypatch.setattr(store_file, "_LOCK_SECONDS", 0.1)
    sentences = numbered(3)
    ArrayStore(NAME, folder=tmp_path).get(sentences[:1], arrays_of)
    with next(tmp_path.glob("*.lock")).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        store = ArrayStore(NAME, folder=tmp_path)
        with pytest.warns(UserWarning, match=r"kept in memory only, not in this file: another process has held"):
            assert_right(sentences, store.get(sentences, arrays_of))
    assert stored(tmp_path, sentences) == sentences[:1]
