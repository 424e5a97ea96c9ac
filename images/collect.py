"""Collects what an image of Cepheid holds but for Cepheid: the interpreter, and the libraries.

    python3 collect.py PACKAGES TARGET

In:  a folder of installed packages, and the Python that runs this, Debian's or docker.io/python's.
Out: TARGET, a root file system in which `cepheid` runs as a user without a name.
Never: a shell, a package manager, or a test of somebody's library.
"""

import compileall
import os.path
import py_compile
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

# Of the standard library, what no program that runs by itself imports.
NEEDLESS = (
    *("ensurepip", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtledemo", "turtle.py"),
    *("dist-packages", "site-packages", "config-3*"),
)
# And of every package.
SUPERFLUOUS = ("__pycache__", "test", "tests", "*.pyi", "*.a", "*.h", "*.pxd")
LOADED_BY_NAME = ("libgcc_s.so.1",)  # by libc, to end a thread: nothing links to it
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
FILES = {
    "etc/passwd": "cepheid:x:65532:65532::/:/sbin/nologin\n",
    "etc/group": "cepheid:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",  # libc alone would ask DNS before /etc/hosts
}
COMMAND = """#!{python}
import sys

from cepheid.cli import main

sys.exit(main())
"""


def collect(packages: Path, target: Path) -> None:
    python = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    _copy_tree(library, _below(target, library), (*NEEDLESS, *SUPERFLUOUS))
    application = target / "opt/cepheid"
    # numpy.testing is imported by numpy itself; a folder `tests` is not.
    _copy_tree(packages, application, SUPERFLUOUS)
    _copy_file(python, target)
    for path in _libraries([python, *library.rglob("*.so"), *packages.rglob("*.so*")]):
        if packages not in path.parents:  # those are there
            _copy_file(path, target)
    _copy_file(CERTIFICATES, target)
    for name, text in FILES.items():
        _write(target / name, text)
    _write(target / "usr/bin/cepheid", COMMAND.format(python=python)).chmod(0o755)
    # The root file system is read-only: what is not compiled now is compiled at every start.
    # By hash, not by time: the same bytes from every build.
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    for folder in (_below(target, library), application):
        if not compileall.compile_dir(
            folder, quiet=1, stripdir=str(target), invalidation_mode=mode
        ):
            sys.exit(f"error: something in {folder} cannot be compiled")


def _libraries(programs: Iterable[Path]) -> set[Path]:
    """The shared libraries that these need, the loader among them, by the names it asks for."""
    said = subprocess.run(
        ["/usr/bin/ldd", *map(str, programs)], check=True, capture_output=True, text=True
    ).stdout
    missing = re.findall(r"(\S+) => not found", said)
    if missing:
        sys.exit(f"error: {', '.join(sorted(set(missing)))} not found\nhint: another BASE")
    # A package's own libraries are found by a path such as ../numpy.libs.
    found = {
        Path(os.path.normpath(path))
        for path in re.findall(r"(?:=>|^)\s*(/\S+) \(0x", said, re.MULTILINE)
    }
    beside = {path.parent for path in found if path.name == "libc.so.6"}
    return found | {folder / name for folder in beside for name in LOADED_BY_NAME}


def _below(target: Path, path: Path) -> Path:
    return target / path.relative_to("/")


def _copy_tree(source: Path, target: Path, without: tuple[str, ...]) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*without))


def _copy_file(path: Path, target: Path) -> None:
    copy = _below(target, path)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


if __name__ == "__main__":
    collect(Path(sys.argv[1]), Path(sys.argv[2]))
