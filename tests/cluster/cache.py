"""Things that take long to make, made once: a folder or file for each state of its inputs."""

import fcntl
import hashlib
import inspect
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.cluster.layout import cache_directory, in_use
from tests.cluster.progress import say, step

KEPT = 2  # of each kind: the one in use, and the one before for who switches branches


def fingerprint(inputs: Iterable[Path | str]) -> str:
    """Of files by their names and contents, folders by what is in them, and plain strings."""
    digest = hashlib.sha256()
    for item in inputs:
        if isinstance(item, str):
            digest.update(item.encode() + b"\0")
            continue
        files = [item] if item.is_file() else sorted(p for p in item.rglob("*") if p.is_file())
        for path in files:
            if "__pycache__" not in path.parts:
                name = path.name if path == item else str(path.relative_to(item))
                digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cached(kind: str, inputs: Iterable[Path | str], make: Callable[[Path], None]) -> Path:
    """The result for these inputs: from the cache, or made by `make(path)` into it.

    The code that makes it is an input too. A result appears under its name only when it is whole,
    and two processes never make the same one at once.
    """
    directory = cache_directory() / kind
    directory.mkdir(parents=True, exist_ok=True)
    result = directory / fingerprint([Path(inspect.getfile(make)), *inputs])
    with (directory / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with step(f"waiting for another process that makes {kind}"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        if not result.exists():
            partial = directory / "partial"
            discard(partial)
            make(partial)
            partial.rename(result)
            _forget_old(directory, result)
        result.touch()
    return result


def _forget_old(directory: Path, newest: Path) -> None:
    others = [p for p in directory.iterdir() if p not in (newest, directory / "lock")]
    others = [p for p in others if not in_use(p)]
    for path in sorted(others, key=lambda p: p.stat().st_mtime, reverse=True)[KEPT - 1 :]:
        say(f"forgetting {path}")
        discard(path)


def discard(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
