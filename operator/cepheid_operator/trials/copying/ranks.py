"""How many processes does a command line start? As many as there are GPUs for, in the copy too.

The one thing of what a job runs that a trial changes. `mpirun -np 8` on two workers instead of
eight would not start, and on sixteen would leave half of them idle: that measures no placement.
So a count that a launcher of processes is given, and that is the job's own count of GPUs, of
workers or of GPUs a worker, follows the placement. Any other count is left as it is, as is
everything that follows the launcher's own options: that is the user's program.
"""

import re
from dataclasses import dataclass

_GAPS = re.compile(r"(\s+)")
_QUOTES = "\"'("
_ALL, _WORKERS, _EACH = "all", "workers", "each"
_MPI = {
    **dict.fromkeys(("-n", "-np", "--n", "--np", "--num-proc"), _ALL),
    **dict.fromkeys(("-npernode", "--npernode", "-N", "-ppn", "--ppn", "-perhost"), _EACH),
}
_TORCH = {
    **dict.fromkeys(("--nproc_per_node", "--nproc-per-node"), _EACH),
    "--nnodes": _WORKERS,
}
_OPTIONS = {
    **dict.fromkeys(
        ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "horovodrun"), _MPI
    ),
    **dict.fromkeys(
        ("torchrun", "torch.distributed.run", "torch.distributed.launch"),
        _TORCH,
    ),
    "accelerate": {"--num_processes": _ALL, "--num_machines": _WORKERS},
    "deepspeed": {"--num_gpus": _EACH, "--num_nodes": _WORKERS},
}
_COMMANDS = ("launch",)
"""`accelerate launch`: a word that is neither an option nor the program."""
_OF_TWO = ("-mca", "--mca", "-gmca", "--gmca")
"""Options of mpirun that take two words."""
VARIABLES = {
    "WORLD_SIZE": _ALL,
    "NNODES": _WORKERS,
    "PET_NNODES": _WORKERS,
    "NPROC_PER_NODE": _EACH,
    "PET_NPROC_PER_NODE": _EACH,
}
"""In the environment, the same."""


@dataclass(frozen=True, slots=True)
class Counts:
    workers: int
    gpus_per_worker: int

    @property
    def gpus(self) -> int:
        return self.workers * self.gpus_per_worker


@dataclass(frozen=True, slots=True)
class Recount:
    """From what a job has to what its copy gets."""

    old: Counts
    new: Counts

    def words(self, words: list[str]) -> list[str]:
        """A command line; a word of it may be a script of many lines."""
        pieces = [_GAPS.split(word) for word in words]
        places = [
            (at, within)
            for at, parts in enumerate(pieces)
            for within in range(0, len(parts), 2)  # between them are the gaps
            if parts[within]
        ]
        options: dict[str, str] = {}
        pending, values = None, 0
        for at, within in places:
            word = pieces[at][within]
            bare = word.strip(_QUOTES).rpartition("/")[2]
            if bare in _OPTIONS:
                options, pending, values = _OPTIONS[bare], None, 0
            elif not options or word == "\\":
                continue
            elif pending is not None:
                pieces[at][within] = self.number(word, pending)
                pending, values = None, 0
            elif word.startswith("-"):
                option, equals, value = word.partition("=")
                values = 0 if equals else 2 if option in _OF_TWO else 1
                kind = options.get(option)
                if kind is not None and equals:
                    pieces[at][within] = f"{option}={self.number(value, kind)}"
                else:
                    pending = kind
            elif values:
                values -= 1
            elif bare not in _COMMANDS:
                options = {}  # the user's program begins
        return ["".join(parts) for parts in pieces]

    def number(self, text: str, kind: str) -> str:
        count = text.rstrip(_QUOTES)
        rest = text[len(count) :]
        for meant, old, new in (
            (_ALL, self.old.gpus, self.new.gpus),
            # One process a worker, however many GPUs that has.
            (_ALL, self.old.workers, self.new.workers),
            (_WORKERS, self.old.workers, self.new.workers),
            (_EACH, self.old.gpus_per_worker, self.new.gpus_per_worker),
        ):
            if kind == meant and count == str(old):
                return f"{new}{rest}"
        return text

    def variable(self, name: str, value: str) -> str:
        kind = VARIABLES.get(name)
        return value if kind is None else self.number(value, kind)
