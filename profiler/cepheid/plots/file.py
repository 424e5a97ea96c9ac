"""Where does a page go? Apart from the pages of jobs, since the fleet's needs nothing of those."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cepheid.errors import CepheidError
from cepheid.plots.page import Page, render


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page, and what its file is called."""

    stem: str
    page: Page


def write(sheet: Sheet, folder: Path, prefix: str = "") -> Path:
    """The path of the page, whole or not at all. The same job's page of before is replaced."""
    path = folder / f"{prefix}{sheet.stem}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, half = tempfile.mkstemp(prefix=".cepheid-", suffix=".html", dir=folder)
    except OSError as problem:
        raise _unwritable(folder, problem) from problem
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(render(sheet.page))
        # As any file that a program writes: mkstemp's own is for its user alone.
        Path(half).chmod(0o666 & ~_umask())
        Path(half).replace(path)
    except OSError as problem:
        Path(half).unlink(missing_ok=True)
        raise _unwritable(folder, problem) from problem
    return path


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _unwritable(folder: Path, problem: OSError) -> CepheidError:
    return CepheidError(
        f"no page can be written to {folder}: {problem.strerror}",
        hint="name another folder with -o; a page takes 5 MB",
    )
