"""`cepheid completion`: what a shell must be told to complete commands, options and jobs."""

import os
from enum import StrEnum
from typing import Annotated

import typer

VARIABLE = "_CEPHEID_COMPLETE"
"""Set by the script when it asks what could come next."""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="Which shell's.")],
) -> None:
    """Print a shell's completion script.

    For bash: source <(cepheid completion bash), best in ~/.bashrc. For zsh likewise, in ~/.zshrc
    after compinit. For fish: cepheid completion fish | source.
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="cepheid", complete_var=VARIABLE, shell=shell.value))


def prepare() -> None:
    """Before a command line is looked at: if it is a shell that asks, its language is learnt."""
    if VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
