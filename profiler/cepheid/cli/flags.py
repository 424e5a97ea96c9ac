"""Settings as flags: one optional flag each, and what is not given is read from the environment."""

import inspect
from collections.abc import Callable
from typing import Annotated

import typer

from cepheid.settings import Option, flag, options


def takes(settings: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command, which takes `**given`, the flags of these settings."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = [_parameter(option) for option in options(settings)]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        return command

    return decorate


def _parameter(option: Option) -> inspect.Parameter:
    default = "" if option.default in ("", ...) else f" [default: {option.default}]"
    words = typer.Option(f"--{flag(option.name)}", help=option.words + default, show_default=False)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[option.kind | None, words],
    )
