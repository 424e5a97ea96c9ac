"""All that was held and wanted in a time, by whom: what the search for hogs looks at.

People are numbered. An exempt job is counted apart from what else its owner holds.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cepheid.jobprofile import JobProfile
from cepheid.reports.contention.holding import (
    WHOLE,
    Claim,
    Hold,
    Pool,
    Resource,
    Stretch,
    claim_of,
    held_by,
    ran,
    used_on_nodes,
    whole,
)
from cepheid.reports.contention.moving import Inventory
from cepheid.reports.contention.overlap import Contention, free, within
from cepheid.reports.contention.shares import Beyond, Spans, beyond_share, most_held
from cepheid.reports.contention.waiting import (
    Knowledge,
    Want,
    offers_of,
    starved,
    usual_systems,
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
    _by_owner: dict[Pool, dict[int, list[Hold]]] = field(default_factory=dict)
    _free: dict[tuple[str, int], list[Stretch]] = field(default_factory=dict)

    @cached_property
    def people(self) -> list[Person]:
        return [Person(name, is_exempt) for name, is_exempt in self._numbers]

    @cached_property
    def owners(self) -> list[int]:
        """Of each run, the number of who answers for it."""
        numbers = self._numbers
        return [numbers[name, is_exempt] for name, is_exempt in self._names]

    def plain(self, owner: int) -> int:
        """The same person, where nothing is exempt."""
        return self._numbers[self.people[owner].name, False]

    @cached_property
    def users(self) -> list[str]:
        return [GROUPS["user"](run) for run in self.runs]

    @cached_property
    def claims(self) -> list[Claim]:
        return [claim_of(run, self.inventory) for run in self.runs]

    @cached_property
    def holds(self) -> Mapping[Pool, list[Hold]]:
        found: defaultdict[Pool, list[Hold]] = defaultdict(list)
        crowded: defaultdict[Resource, set[str]] = defaultdict(set)
        for want in self._starved:
            crowded[want.pool.resource].add(want.pool.node)
        for number, (run, claim) in enumerate(zip(self.runs, self.claims, strict=True)):
            span = ran(run, self.window)
            if span is None:
                continue
            for hold in held_by(claim, number, span):
                found[hold.pool].append(hold)
            for hold in used_on_nodes(run, number, span, crowded) if crowded else ():
                found[hold.pool].append(hold)
        return found

    def by_owner(self, pool: Pool) -> Mapping[int, list[Hold]]:
        if pool not in self._by_owner:
            found = self._by_owner[pool] = {}
            for hold in self.holds[pool]:
                found.setdefault(self.owners[hold.run], []).append(hold)
        return self._by_owner[pool]

    @cached_property
    def wants(self) -> Mapping[Pool, list[Want]]:
        found: defaultdict[Pool, list[Want]] = defaultdict(list)
        usual = usual_systems(self.runs, self.claims)
        known = Knowledge(offers_of(self._pools(), self.inventory), usual)
        for number, (run, claim) in enumerate(zip(self.runs, self.claims, strict=True)):
            gpus = sum(claim.gpus.values())
            for want in wanted_by(run, claim, number, known, self.window):
                if gpus and not want.pool.name:
                    found[want.pool] += self._while_free(want, gpus)
                else:
                    found[want.pool].append(want)
        for want in self._starved:
            found[want.pool].append(want)
        return found

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
        held = self._spans(self.holds[pool])
        is_whole = pool.resource is Resource.GPU
        return beyond_share(held, self._wanted(pool), self._capacity(pool, held), is_whole=is_whole)

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
            runs = np.array([want.run for want in self.wants.get(pool, ())], dtype=np.int64)
            self._contentions[key] = Contention(self._wanted(pool), runs)
        return self._contentions[key]

    def beside_free_gpus(self, pool: Pool) -> Contention:
        """Who else waited for GPUs of the system while they were free: for something else there."""
        key = ("beside", pool)
        if key not in self._contentions:
            wants = [
                piece
                for one, wants in self.wants.items()
                if one.resource is Resource.GPU and one.system == pool.system
                for want in wants
                for piece in self._while_free(want, want.amount)
            ]
            runs = np.array([want.run for want in wants], dtype=np.int64)
            self._contentions[key] = Contention(self._spans(wants, plain=True), runs)
        return self._contentions[key]

    def _while_free(self, want: Want, gpus: int) -> list[Want]:
        """Without GPUs a job that needs them could have used nothing else."""
        key = (want.pool.system, gpus)
        stretches = self._free.get(key)
        if stretches is None:
            stretches = self._free[key] = self._when_free(*key)
        span = (want.begin_us, want.end_us)
        return [
            want._replace(begin_us=begin, end_us=end)
            for begin, end in (within(span, stretches) if stretches else ())
        ]

    def _when_free(self, system: str, gpus: int) -> list[Stretch]:
        held = [
            hold
            for pool, holds in self.holds.items()
            if pool.resource is Resource.GPU and pool.system == system
            for hold in holds
        ]
        return free(self._spans(held), self.inventory.gpu_count(system), gpus, self.window)

    @cached_property
    def _starved(self) -> list[Want]:
        return [
            want
            for number, run in enumerate(self.runs)
            for want in starved(run, number, self.window)
        ]

    def _wanted(self, pool: Pool) -> Spans:
        return self._spans(self.wants.get(pool, ()), plain=True)

    def _spans(self, rows: Sequence[Hold | Want], *, plain: bool = False) -> Spans:
        """`plain`: who waits is who they are, for an exempt job too."""
        owners = self._plain if plain else self.owners
        return Spans.of([(owners[one.run], one.begin_us, one.end_us, one.amount) for one in rows])

    @cached_property
    def _plain(self) -> list[int]:
        numbers = self._numbers
        return [numbers[name, False] for name, _ in self._names]

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
