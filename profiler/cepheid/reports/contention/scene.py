"""All that was held and wanted in a time, by whom: what the search for hogs looks at.

People are numbered. An exempt job is counted apart from what else its owner holds.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cepheid.jobprofile import JobProfile
from cepheid.reports.contention.holding import (
    MOST,
    WHOLE,
    Claim,
    Pool,
    Resource,
    Stretch,
    claim_of,
    held_by,
    ran,
    used_on_each,
    whole,
)
from cepheid.reports.contention.moving import Inventory
from cepheid.reports.contention.overlap import Contention, free, within
from cepheid.reports.contention.rows import Alike, Row, Rows, Times
from cepheid.reports.contention.shares import Beyond, IntArray, Spans, beyond_share, most_held
from cepheid.reports.contention.waiting import (
    Where,
    could_run_on,
    offers_of,
    starved,
    usual_systems,
    waited,
    wanted_by,
)
from cepheid.reports.stats import GROUPS


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever is held to account: a user, a namespace or a job."""

    name: str
    is_exempt: bool = False


@dataclass(frozen=True)
class Scene:
    runs: Sequence[JobProfile]
    inventory: Inventory
    window: Stretch
    who: Callable[[JobProfile], str]
    is_exempt: Callable[[JobProfile], bool]
    _contentions: dict[tuple[str, Pool], Contention] = field(default_factory=dict)
    _free: dict[tuple[str, int], list[Stretch]] = field(default_factory=dict)

    @cached_property
    def people(self) -> list[Person]:
        return [Person(name, is_exempt) for name, is_exempt in self._numbers]

    @cached_property
    def owners(self) -> IntArray:
        """Of each run, the number of who answers for it."""
        numbers = self._numbers
        return np.array([numbers[one] for one in self._names], dtype=np.int64)

    def plain(self, owner: int) -> int:
        """The same person, where nothing is exempt."""
        return self._numbers[self.people[owner].name, False]

    @cached_property
    def users(self) -> IntArray:
        """Of each run, a number for its user."""
        numbers: dict[str, int] = {}
        names = map(GROUPS["user"], self.runs)
        found = [numbers.setdefault(name, len(numbers)) for name in names]
        return np.array(found, dtype=np.int64)

    @cached_property
    def claims(self) -> list[Claim]:
        """Of each run; what many claim is there once."""
        known: dict[Claim, Claim] = {}
        found = (claim_of(run, self.inventory) for run in self.runs)
        return [known.setdefault(claim, claim) for claim in found]

    @cached_property
    def has_gpus(self) -> NDArray[np.bool_]:
        """Of each run."""
        return np.array([bool(claim.gpus) for claim in self.claims], dtype=np.bool_)

    @cached_property
    def holds(self) -> Mapping[Pool, Rows]:
        runs_of: defaultdict[Claim, list[int]] = defaultdict(list)
        for run in self._ran.runs:
            runs_of[self.claims[run]].append(run)
        found: defaultdict[Pool, list[Alike]] = defaultdict(list)
        for claim, runs in runs_of.items():
            for pool, amount in held_by(claim):
                found[pool].append((runs, amount))
        holds = {pool: Rows.alike(groups, self._ran) for pool, groups in found.items()}
        return holds | self._used_on_nodes()

    def _used_on_nodes(self) -> dict[Pool, Rows]:
        """Where somebody was short of it."""
        crowded = {pool.node for pool in self._starved}
        there: defaultdict[str, list[int]] = defaultdict(list)
        for run in self._ran.runs if crowded else ():
            for node in crowded.intersection(self.runs[run].nodes):
                there[node].append(run)
        used = {
            resource: np.array([used_on_each(run, resource) for run in self.runs], dtype=np.int64)
            for resource in {pool.resource for pool in self._starved}
        }
        found = {}
        for pool in self._starved:
            runs = np.array(there[pool.node], dtype=np.int64)
            rows = Rows.during(self._ran, runs, used[pool.resource][runs])
            found[pool] = rows.at(rows.amounts > 0)
        return found

    @cached_property
    def wants(self) -> Mapping[Pool, Rows]:
        waiting = Times.of([waited(run, self.window) for run in self.runs])
        usual = usual_systems(self.runs, self.claims, waiting.runs)
        runs_of: defaultdict[tuple[Claim, Where], list[int]] = defaultdict(list)
        for run in waiting.runs:
            claim = self.claims[run]
            runs_of[claim, could_run_on(self.runs[run], claim, usual)].append(run)
        offers = offers_of(self._pools(), self.inventory)
        alike: defaultdict[tuple[Pool, int], list[Alike]] = defaultdict(list)
        for (claim, where), runs in runs_of.items():
            gpus = sum(count for _, count in claim.gpus)
            for pool, amount in wanted_by(claim, where, offers):
                alike[pool, 0 if pool.name else gpus].append((runs, amount))
        found: defaultdict[Pool, list[Rows]] = defaultdict(list)
        for (pool, gpus), groups in alike.items():
            rows = Rows.alike(groups, waiting)
            found[pool].append(self._while_free(rows, pool.system, gpus) if gpus else rows)
        for pool, short in self._starved.items():
            found[pool].append(Rows.of(short))
        return {pool: Rows.joined(parts) for pool, parts in found.items()}

    def _pools(self) -> tuple[Pool, ...]:
        """Of which something is held; and GPUs that nobody holds, but that there are."""
        names = {claim.gpu_name for claim in self.claims if claim.gpu_name.endswith(WHOLE)}
        idle = [
            Pool(Resource.GPU, system, name)
            for system in self.inventory.systems
            if self.inventory.gpu_count(system)
            for name in sorted(names)
        ]
        return tuple(dict.fromkeys([*(pool for pool in self.holds if not pool.node), *idle]))

    def beyond(self, pool: Pool) -> list[Beyond]:
        """Who held more than a fair share of it while others waited."""
        held, wanted = self.holds[pool].spans(self.owners), self.wants[pool].spans(self._plain)
        is_whole = pool.resource is Resource.GPU
        return beyond_share(held, wanted, self._capacity(pool, held), is_whole=is_whole)

    def _capacity(self, pool: Pool, held: Spans) -> int | None:
        """As the nodes tell; else as much as was ever held. None: what is held is all."""
        if pool.node:
            return None
        told = 0
        match pool.resource:
            case Resource.GPU if pool.name.endswith(WHOLE):
                told = self.inventory.gpu_count(pool.system)
            case Resource.CPU:
                told = whole(pool.resource, self.inventory.cpu_cores(pool.system))
            case Resource.MEMORY:
                told = whole(pool.resource, self.inventory.memory_bytes(pool.system))
        if told and self.inventory.is_told:
            return told
        return max(told, most_held(held))

    def contention(self, pool: Pool) -> Contention:
        """Who else waited for it."""
        key = ("", pool)
        if key not in self._contentions:
            self._contentions[key] = self._contention(self.wants.get(pool, Rows.of(())))
        return self._contentions[key]

    def beside_free_gpus(self, pool: Pool) -> Contention:
        """Who else waited for GPUs of the system while they were free: for something else there."""
        key = ("beside", pool)
        if key not in self._contentions:
            pieces = [
                self._while_free(wants.at(wants.amounts == gpus), pool.system, gpus)
                for wants in self._gpus_of(self.wants, pool.system)
                for gpus in np.unique(wants.amounts).tolist()
            ]
            self._contentions[key] = self._contention(Rows.joined(pieces))
        return self._contentions[key]

    def _contention(self, wants: Rows) -> Contention:
        return Contention(wants.spans(self._plain), wants.runs)

    def _gpus_of(self, rows: Mapping[Pool, Rows], system: str) -> list[Rows]:
        return [
            of
            for pool, of in rows.items()
            if pool.resource is Resource.GPU and pool.system == system
        ]

    def _while_free(self, wants: Rows, system: str, gpus: int) -> Rows:
        """Without GPUs a job that needs them could have used nothing else."""
        key = (system, gpus)
        if key not in self._free:
            self._free[key] = self._when_free(*key)
        stretches = self._free[key]
        pieces = [
            (run, *piece, amount)
            for run, begin, end, amount in (wants.each() if stretches else ())
            for piece in within((begin, end), stretches)
        ]
        return Rows.of(pieces)

    def _when_free(self, system: str, gpus: int) -> list[Stretch]:
        held = Rows.joined(self._gpus_of(self.holds, system)).spans(self.owners)
        return free(held, self.inventory.gpu_count(system), gpus, self.window)

    @cached_property
    def _ran(self) -> Times:
        return Times.of([ran(run, self.window) for run in self.runs])

    @cached_property
    def _starved(self) -> Mapping[Pool, list[Row]]:
        times = self._ran.from_to_us.tolist()
        found: defaultdict[Pool, list[Row]] = defaultdict(list)
        for run in self._ran.runs:
            begin, end = times[run]
            for pool, span in starved(self.runs[run], (begin, end)):
                found[pool].append((run, *span, MOST))
        return found

    @cached_property
    def _plain(self) -> IntArray:
        """The same as owners, where nothing is exempt: who waits is who they are."""
        numbers = self._numbers
        return np.array([numbers[name, False] for name, _ in self._names], dtype=np.int64)

    @cached_property
    def _names(self) -> list[tuple[str, bool]]:
        return [(self.who(run), self.is_exempt(run)) for run in self.runs]

    @cached_property
    def _numbers(self) -> dict[tuple[str, bool], int]:
        found: dict[tuple[str, bool], int] = {}
        for name, is_exempt in self._names:
            found.setdefault((name, False), len(found))
            if is_exempt:
                found.setdefault((name, True), len(found))
        return found
