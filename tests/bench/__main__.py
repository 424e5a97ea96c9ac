"""`make bench`: one command, one machine, one run, one page of Markdown on stdout."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from cepheid import analysis
from cepheid.errors import CepheidError
from tests.bench import costs
from tests.bench.detectors import DETECTORS
from tests.bench.families import LENGTHS, NEGATIVE, POSITIVE, samples
from tests.bench.predictors import PREDICTORS, cepheid_that_knows
from tests.bench.recordings import Recording, recordings, windows
from tests.bench.scores import Found, Task, Told, detected, geometric_mean, is_right, task, told


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of recorded series with a labels.csv")
    parser.add_argument("--each", type=int, default=100, help="series of every synthetic family")
    parser.add_argument("--rivals", type=int, default=12, help="of these, shown to slow rivals")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--seconds", type=float, default=8.0, help="CPU for each timing")
    options = parser.parse_args()
    try:
        recorded = [] if options.data is None else list(recordings(options.data))
    except CepheidError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    print_detection(recorded, options.each, options.rivals, options.seed)
    print_forecasts(recorded, options.each, options.rivals, options.seed)
    print_costs(options.seconds)
    return 0


def talk(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"| {' | '.join(head)} |")
    print(f"|---{'|---:' * (len(head) - 1)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    print(flush=True)


def percent(part: int, whole: int) -> str:
    return "-" if whole == 0 else f"{100 * part / whole:.1f} %"


def print_detection(recorded: Sequence[Recording], each: int, rivals: int, seed: int) -> None:
    talk("cycles: synthetic")
    by_family: dict[str, Found] = defaultdict(Found)
    for sample in samples(each, seed):
        by_family[sample.family] += detected(DETECTORS["cepheid"], [sample])
    some = list(samples(rivals, seed))
    rows = [_row("cepheid", sum(by_family.values(), Found()))]
    for name, detect in DETECTORS.items():
        if name != "cepheid":
            talk(f"cycles: {name}")
            rows.append(_row(name, detected(detect, some)))
    print("## Cycles, synthetic\n")
    print(f"{each} series of each family for us, {rivals} for the others; seed {seed}.\n")
    print_table(("", "right", "wrong", "missed", "false positives"), rows)
    print_table(
        ("by family", "right", "wrong", "missed", "false positives"),
        [_row(family, by_family[family]) for family in (*POSITIVE, *NEGATIVE)],
    )
    if recorded:
        _print_recorded_detection(recorded)


def _row(name: str, found: Found) -> tuple[str, ...]:
    counts = (found.right, found.wrong, found.missed)
    alarms = percent(found.false_alarms, found.not_cyclic)
    return (name, *(percent(count, found.cyclic) for count in counts), alarms)


def _print_recorded_detection(recorded: Sequence[Recording]) -> None:
    labelled = [r for r in recorded if r.kind != "unlabelled"]
    parts = [part for recording in labelled for part in windows(recording)]
    print("## Cycles, recorded\n")
    print(
        f"{sum(bool(r.series.periods) for r in labelled)} series with a known cycle, "
        f"{sum(not r.series.periods for r in labelled)} without; "
        f"{len(parts)} windows of them.\n"
    )
    rows = []
    for name, detect in DETECTORS.items():
        talk(f"cycles, recorded: {name}")
        rows.append(_row(name, detected(detect, [r.series for r in labelled])))
        if name != "thresholded acf of GPU profilers":  # a second a series
            rows.append(_row(f"{name}: windows", detected(detect, parts)))
    print_table(("", "right", "wrong", "missed", "false positives"), rows)
    told_wrong = []
    for recording in labelled:
        period = DETECTORS["cepheid"](recording.series.values)
        truths = recording.series.periods
        if (period is None) == bool(truths) or (period and not is_right(period, truths)):
            told_wrong.append(f"{recording.name}: {period} instead of {truths}")
    print("cepheid was wrong on: " + ("; ".join(told_wrong) or "none") + "\n")


def print_forecasts(recorded: Sequence[Recording], each: int, rivals: int, seed: int) -> None:
    tasks = [task(sample) for sample in samples(each, seed)]
    rng = np.random.default_rng(seed)
    cuts = [
        task(recording.series, int(share * len(recording.series.values)))
        for recording in recorded
        for share in rng.uniform(0.5, 1.0, 12)
    ]
    cuts = [cut for cut in cuts if np.nanstd(cut.past) > 0]
    some = [task(sample) for sample in samples(rivals, seed)] + cuts[::6]
    print("## Forecasts\n")
    print(
        "Error relative to seasonal naive with the true period (last value where there is none), "
        "geometric mean; 90 % band; up to 40 steps ahead. The others are told the true period.\n"
    )
    talk("forecasts: cepheid")
    ours = _all_told("cepheid", tasks + cuts)
    rows = [_forecast_row("cepheid, all", ours)]
    for name in PREDICTORS:
        if name == "seasonal naive":
            continue
        talk(f"forecasts: {name}, {len(some)} series")
        rows.append(_forecast_row(f"{name}, {len(some)} series", _all_told(name, some)))
    print_table(("", "error / naive", "coverage", "none given"), rows)
    families = dict.fromkeys(t.family for t in tasks + cuts)
    print_table(
        ("cepheid by family", "error / naive", "coverage", "none given"),
        [_forecast_row(f, [t for t in ours if t[0] == f]) for f in families],
    )


def _all_told(name: str, tasks: Sequence[Task]) -> list[tuple[str, Told | None]]:
    return [(work.family, told(PREDICTORS[name], work)) for work in tasks]


def _forecast_row(name: str, answers: Sequence[tuple[str, Told | None]]) -> tuple[str, ...]:
    given = [answer for _, answer in answers if answer is not None]
    covered = [answer.covered for answer in given if answer.covered is not None]
    return (
        name,
        f"{geometric_mean([answer.ratio for answer in given]):.3f}" if given else "-",
        f"{100 * float(np.mean(covered)):.1f} %" if covered else "-",
        str(len(answers) - len(given)),
    )


def print_costs(seconds: float) -> None:
    print("## Cost\n")
    print("Detection, CPU as a multiple of two FFTs of 2n; mean over cyclic and other series.\n")
    head = ["", *(f"n = {n:,}" for n in costs.LENGTHS)]
    columns: list[dict[str, float]] = []
    units = []
    for length in costs.LENGTHS:
        talk(f"cost of detection: n = {length:,}")
        slow = "thresholded acf of GPU profilers"
        chosen = {n: d for n, d in DETECTORS.items() if n != slow or length <= max(LENGTHS)}
        unit, multiples = costs.of_detection(chosen, length, seconds)
        units.append(unit)
        columns.append(multiples)
    rows = [["two FFTs of 2n, ms", *(f"{unit:.3f}" for unit in units)]]
    rows += (
        [name, *(f"{c[name]:,.1f}" if name in c else "-" for c in columns)] for name in DETECTORS
    )
    print_table(head, rows)
    talk("cost of forecasts")
    chosen_predictors = {n: p for n, p in PREDICTORS.items() if n != "seasonal naive"}
    chosen_predictors = {"cepheid, cycles known": cepheid_that_knows} | chosen_predictors
    spent = costs.of_forecasts(chosen_predictors, 1024, seconds)
    print("Forecast of 40 steps, n = 1,024, CPU ms; detection included where nothing is said.\n")
    print_table(("", "ms"), [(name, f"{ms:.2f}") for name, ms in spent.items()])
    talk("cost of imports")
    rows = []
    everything = ", ".join(f"cepheid.analysis.{name}" for name in analysis.__all__)
    for name, modules in (
        ("numpy", "numpy"),
        ("cepheid.analysis.period", "cepheid.analysis.period"),
        ("all of cepheid.analysis", everything),
    ):
        mib, cpu, heavy = costs.of_import(modules)
        rows.append([name, f"{mib:.1f}", f"{cpu:.3f}", ", ".join(heavy) or "none"])
    print_table(("import", "MiB", "CPU s", "heavy libraries"), rows)


if __name__ == "__main__":
    sys.exit(main())
