"""What takes long is made once, and only ever seen whole."""

from pathlib import Path

import pytest

from tests.cluster.cache import KEPT, cached, fingerprint


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CEPHEID_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(text: str, made: list[str]) -> Path:
    def make(target: Path) -> None:
        made.append(text)
        target.write_text(text)

    return cached("thing", [text], make)


def test_the_same_inputs_are_made_once() -> None:
    made: list[str] = []
    first, again, other = write("a", made), write("a", made), write("b", made)
    assert first == again != other
    assert made == ["a", "b"]
    assert other.read_text() == "b"


def test_a_make_that_fails_half_way_leaves_nothing_that_looks_whole() -> None:
    def fail(target: Path) -> None:
        target.write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        cached("thing", ["a"], fail)
    made: list[str] = []
    assert write("a", made).read_text() == "a"
    assert made == ["a"]


def test_only_the_newest_results_are_kept(own_cache: Path) -> None:
    results = [write(text, []) for text in "abcd"]
    assert [path.exists() for path in results] == [False] * (4 - KEPT) + [True] * KEPT
    assert all(own_cache in path.parents for path in results)


def test_a_fingerprint_changes_with_contents_names_and_order(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("1")
    seen = [fingerprint([folder])]
    (folder / "a").write_text("2")
    seen.append(fingerprint([folder]))
    (folder / "a").rename(folder / "b")
    seen.append(fingerprint([folder]))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/b.pyc").write_text("bytes")
    assert fingerprint([folder]) == seen[-1]
    seen += [fingerprint(["x", "y"]), fingerprint(["y", "x"]), fingerprint(["xy"])]
    assert len(set(seen)) == len(seen)
