"""`cepheid trial`: make PlacementTrials, and look at what they find."""

import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cepheid.cli.formats import Output, document
from cepheid.cli.places import Place, at_a_cluster, say
from cepheid.errors import GoneError, ThrottledError, UnavailableError, UsageError
from cepheid.units import length_seconds

if TYPE_CHECKING:
    from cepheid.cli.trial_requests import TrialRequests
    from cepheid.cli.trial_shown import Look

EVERY_SECONDS = 2.0
"""From one look of `watch` to the next; trials take minutes."""
GROUP = typer.Typer(add_completion=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the PlacementTrial.")]
OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="A table for people, or for programs.")
]


class Goal(StrEnum):
    """As cepheid.placementtrial has them, which takes a library to load; without the deadline."""

    THROUGHPUT = "throughput"
    THROUGHPUT_PER_GPU = "throughput-per-gpu"
    COST = "cost"
    ENERGY = "energy"


@GROUP.callback(invoke_without_command=True, subcommand_metavar="COMMAND [OPTIONS]")
def trial(context: typer.Context) -> None:
    """Try on which GPUs a job runs best: create, list, show, watch."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@at_a_cluster
def create(  # noqa: PLR0913 - options of a command line
    job: Annotated[
        str,
        typer.Option("--job", metavar="KIND/NAME", help="MPIJob, PyTorchJob or Job: mpijob/bert."),
    ],
    *,
    name: Annotated[
        str | None, typer.Option("--name", help="Of the trial. Default: that of the job.")
    ] = None,
    api_version: Annotated[
        str | None,
        typer.Option("--api-version", help="Of the job's kind. Default: what the cluster has."),
    ] = None,
    gpu_types: Annotated[
        str | None,
        typer.Option(
            "--gpu-types", metavar="A,B", help="Values of nvidia.com/gpu.product. Default: all."
        ),
    ] = None,
    gpus: Annotated[
        str | None,
        typer.Option("--gpus", metavar="1,2", help="GPUs of a worker. Default: as the job asks."),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option("--workers", metavar="1,2,4", help="How many. Default: as the job asks."),
    ] = None,
    goal: Annotated[Goal, typer.Option("--goal", help="What is best.")] = Goal.THROUGHPUT,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", help="File with money an hour for each GPU model: for the goal."),
    ] = None,
    gpu_hours: Annotated[
        float | None,
        typer.Option("--gpu-hours", help="All trials together hold no more. Default: 1."),
    ] = None,
    trial_seconds: Annotated[
        float | None,
        typer.Option("--trial-seconds", help="So long is each measured at most. Default: 180."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print the YAML; no cluster is asked.")
    ] = False,
    place: Place,
) -> None:
    """Make a PlacementTrial of a job; its name is printed.

    The job is only read: short copies of it run on what is to be tried, within the budget.
    """
    from cepheid.placementtrial import Goal as Best
    from cepheid.reports import trial_asked

    kind, job_name = trial_asked.job_of(job)
    types = () if gpu_types is None else trial_asked.texts(gpu_types, "--gpu-types")
    wanted = trial_asked.Wanted(
        kind=kind,
        job=job_name,
        gpu_types=types,
        gpus_per_worker=() if gpus is None else trial_asked.numbers(gpus, "--gpus"),
        workers=() if workers is None else trial_asked.numbers(workers, "--workers"),
        goal=Best(goal.value),
        prices={} if prices is None else _prices(prices, types),
        gpu_hours=gpu_hours,
        trial_seconds=trial_seconds,
    )
    called = name or job_name
    versions = trial_asked.VERSIONS[kind]
    if dry_run:
        version = api_version or versions[0]
        document(trial_asked.trial_document(called, place.namespace, wanted, version), Output.YAML)
        if api_version is None and len(versions) > 1:
            say(f"note: {version} is the usual one of {' and '.join(versions)}: --api-version")
        return
    # What is wrong with it is said before anybody is asked.
    trial_asked.trial_document(called, place.namespace, wanted, versions[0])
    with _requests(place) as requests:
        namespace = requests.namespace()
        version = api_version or requests.version_of(kind, job_name, versions)
        requests.create(trial_asked.trial_document(called, namespace, wanted, version))
    typer.echo(f"{namespace}/{called}")
    say(f"hint: cepheid trial watch {called} --namespace {namespace}")


@at_a_cluster
def list_trials(
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Every namespace of the cluster.")
    ] = False,
    output: OutputOption = Output.TABLE,
    *,
    place: Place,
) -> None:
    """List the PlacementTrials, the newest first."""
    if all_namespaces and place.namespace is not None:
        raise UsageError("--namespace and --all-namespaces exclude each other", hint="give one")
    from cepheid.cli.trial_shown import Look, show_list

    with _requests(place) as requests:
        things = requests.listed(everywhere=all_namespaces)
        missing = requests.missing
    looks = [look for thing in things if (look := Look.of(thing)) is not None]
    show_list(looks, datetime.now(UTC), output, has_namespaces=all_namespaces)
    if len(looks) < len(things):
        say(f"note: {len(things) - len(looks)} cannot be read: written by a newer version?")
    for words in missing:
        say(f"note: {words}")
    if not things:
        say("there is no PlacementTrial; cepheid trial create --job KIND/NAME makes one")


@at_a_cluster
def show(
    name: Name,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.html", help="Draw the curve as a page, too."),
    ] = None,
    output: OutputOption = Output.TABLE,
    *,
    place: Place,
) -> None:
    """Show what a PlacementTrial found: every placement, the curve, the best and why."""
    if plot is not None and plot.suffix != ".html":
        raise UsageError(f"--plot is {str(plot)!r}", hint="a file whose name ends in .html")
    from cepheid.cli.trial_shown import draw, show_one

    with _requests(place) as requests:
        look = _look(requests.get(name))
    show_one(look, output)
    if plot is not None:
        say(f"drawn: {draw(look, plot)}")


@at_a_cluster
def watch(
    name: Name,
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="TIME", help="Give up after that: 30min, 2h."),
    ] = None,
    *,
    place: Place,
) -> None:
    """Print what a PlacementTrial does until it is over.

    Exits with 0 if it is done, with 1 if it failed, was aborted or deleted, or time is up.
    """
    seconds = None if timeout is None else length_seconds(timeout)
    if timeout is not None and seconds is None:
        raise UsageError(f"--timeout is {timeout!r}", hint="such as 90s, 30min or 2h")
    with _requests(place) as requests:
        is_done = _follow(requests, name, seconds)
    if not is_done:
        raise typer.Exit(1)


def _follow(requests: "TrialRequests", name: str, most_seconds: float | None) -> bool:
    """Whether it is done; asked again and again, since a stream may die in silence."""
    from cepheid.placementtrial import Phase, TrialStatus
    from cepheid.reports.plain import plain
    from cepheid.reports.trials import changes, headline

    begun = time.monotonic()
    look = _look(requests.get(name))
    uid = look.uid
    before: TrialStatus | None = None
    is_away = False
    while True:
        for words in changes(before, look.status):
            typer.echo(f"{datetime.now().astimezone():%H:%M:%S}  {plain(words)}")
        before = look.status
        if before.phase is not None and before.phase.is_over:
            typer.echo(plain(headline(name, before)))
            return before.phase is Phase.DONE
        if most_seconds is not None and time.monotonic() - begun >= most_seconds:
            say(f"{name} is not over yet: time is up, and it goes on without you")
            return False
        time.sleep(EVERY_SECONDS)
        try:
            look = _look(requests.get(name))
            is_away = False
        except (UnavailableError, ThrottledError) as problem:
            if not is_away:
                say(f"note: {problem.message}; asking again")
            is_away = True
            continue
        except GoneError:
            say(f"{name} was deleted, and its trials with it")
            return False
        if look.uid != uid:
            say(f"{name} was deleted, and another was made under its name")
            return False


def _look(thing: dict[str, Any]) -> "Look":
    from cepheid.cli.trial_shown import Look

    return Look.read(thing)


def _requests(place: Place) -> "TrialRequests":
    from cepheid.cli.trial_requests import TrialRequests

    return TrialRequests(place.context, place.namespace)


def _prices(path: Path, types: tuple[str, ...]) -> dict[str, float]:
    from cepheid.cli.stats import read_document
    from cepheid.reports.prices import EXAMPLE, gpu_hour, price_list
    from cepheid.reports.trial_asked import prices_of

    listed = price_list(read_document(path, "the price list", f"as {EXAMPLE}"))
    return prices_of(types, {one: gpu_hour(one, listed) for one in types})


GROUP.command("create")(create)
GROUP.command("list")(list_trials)
GROUP.command("show")(show)
GROUP.command("watch")(watch)
