"""How careful is advice: options that say it."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from cepheid.cli.filters import with_options

MOST_PERCENT = 400


def buffers(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command, which takes `rules`, the options that make them."""

    def choosing(**given: Any) -> None:
        from cepheid.reports.sizing.advised import Rules

        mine = {name: given.pop(name) for name in _OPTIONS}
        command(rules=Rules(**mine), **given)

    return with_options(choosing, command, "rules", _OPTIONS)


# Named as in cepheid.reports.sizing.advised.Rules, whose defaults a test compares.
_OPTIONS: dict[str, Any] = {
    "memory_buffer_percent": (
        Annotated[
            float,
            typer.Option(
                "--memory-buffer",
                min=0,
                max=MOST_PERCENT,
                help="Percent above the peak; 10 to 20 is usual.",
            ),
        ],
        15.0,
    ),
    "runtime_buffer_percent": (
        Annotated[
            float,
            typer.Option(
                "--runtime-buffer",
                min=0,
                max=MOST_PERCENT,
                help="Percent above the longest run; 15 to 30 is usual.",
            ),
        ],
        20.0,
    ),
    "cpu_step_cores": (
        Annotated[
            float,
            typer.Option(
                "--cpu-step", min=0.001, max=64, help="Cores are rounded up to such steps."
            ),
        ],
        0.5,
    ),
    "min_runs": (
        Annotated[
            int, typer.Option("--min-runs", min=2, max=30, help="Fewer runs make no advice.")
        ],
        3,
    ),
}
