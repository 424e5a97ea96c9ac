"""What is a run called, of which nobody said it? By its program, as its user would."""

import os.path
import re
from collections.abc import Sequence

# Whose first argument that is no option is the program; Python's and others' -m names it too.
_INTERPRETER = re.compile(
    r"(?:python|pypy)[\d.]*w?|(?:ba|da|z|k|fi)?sh|node|deno|bun|ruby|perl|php|Rscript|julia|lua[\d.]*"
    r"|java|torchrun|accelerate|deepspeed|mpirun|mpiexec|horovodrun|uv|uvx|poetry|env|nice|time|xargs"
)
_SCRIPT = re.compile(r"[^-].*\.(?:py|pyc|sh|js|mjs|ts|rb|pl|php|R|r|jl|lua|jar|ipynb)$")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
MOST_CHARACTERS = 100


def name_of(arguments: Sequence[str]) -> str:
    program = os.path.basename(arguments[0]) if arguments else ""  # noqa: PTH119
    if _INTERPRETER.fullmatch(program):
        program = _run_by(arguments[1:]) or program
    return clean(program) or "command"


def clean(text: str) -> str:
    """On one line, and as long as a table has room for."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())[:MOST_CHARACTERS].strip()


def _run_by(arguments: Sequence[str]) -> str | None:
    if arguments and arguments[0] == "-c":
        return None
    for at, argument in enumerate(arguments):
        if argument == "-m" and at + 1 < len(arguments):
            return arguments[at + 1]
        if _SCRIPT.match(argument):
            return os.path.basename(argument)  # noqa: PTH119
    first = next(iter(arguments), "-")
    return None if first.startswith("-") else os.path.basename(first)  # noqa: PTH119
