"""Which of what the watches tell is kept?

Of nodes what they have, of pods on them which GPUs they hold, of jobs what runs of them are called
and where trials say they run best, of JobProfiles a few figures a run. Anything else of an object
is forgotten at once: a cluster has thousands of them.

Events come from the watches at any time, lists every few minutes; both say the same.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeVar

from cepheid.annotations import codec
from cepheid.annotations.codec import DOMAIN, PREFIX
from cepheid.annotations.job_codec import OF_PEOPLE, decode_job
from cepheid.annotations.job_facts import BestPlacement
from cepheid.jobprofile import ProfileError, from_document
from cepheid.jobs import fields
from cepheid.jobs.fields import Raw
from cepheid.jobs.kinds import POD
from cepheid.jobs.lineage import series_of, template_of
from cepheid.jobs.owners import LeftAlone, Reference, Unknown, job_of, top_of
from cepheid.jobs.pods import applied_keys, gpu_count
from cepheid_operator.api import VERSION
from cepheid_operator.discovery import PODS, Served
from cepheid_operator.extender.judging import Judged, judge
from cepheid_operator.extender.needs import Needs, Run, needs_of, run_of
from cepheid_operator.extender.runs import Lineage, Runs, keys_of
from cepheid_operator.extender.supply import Node, Supply, node_of
from cepheid_operator.trials.marking import MANAGER as TRIALS_MANAGER

NODES = Served("", "v1", "Node", "nodes")
PROFILES = Served(DOMAIN, VERSION, "JobProfile", "jobprofiles")
OVER = frozenset({"Succeeded", "Failed"})
_OWN = frozenset({"apiVersion", "kind", "metadata"})
_OWNER_KEYS = ("name", "namespace", "uid", "ownerReferences")
K = TypeVar("K")
Bound = Callable[[str, str], None]
"""Called with the uid of a pod that got a node, and that node's name."""


class Unknowns(StrEnum):
    """Why nothing is known of a pod beforehand."""

    NO_JOB = "no-job"
    """Of a service, of a kind that is not known, or its job was not seen yet."""
    NO_RUNS = "no-runs"
    """Its job has no earlier run of which anything was measured."""


@dataclass(frozen=True, slots=True)
class Job:
    lineage: Lineage
    best: BestPlacement | None = None
    forged: bool = False
    """It has a best placement that no trial wrote."""
    malformed: bool = False
    """It has one that a trial wrote, of another version or damaged."""
    created: str = ""
    """As Kubernetes writes it: the later one is the greater one."""


@dataclass(frozen=True, slots=True)
class Holder:
    node: str
    gpus: int
    lineage: Lineage | None


@dataclass(frozen=True, slots=True)
class Earlier:
    lineage: Lineage
    run: Run


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod in question, as far as it is known."""

    needs: Needs
    lineage: Lineage | None
    best: BestPlacement | None = None
    unknown: Unknowns | None = None
    forged: bool = False
    """It, or its job, claims what nobody of ours wrote."""


class Index:
    """For several threads: watches tell, and the scheduler asks."""

    def __init__(self) -> None:
        self.bound: Bound = lambda *_: None
        self._lock = threading.RLock()
        self._supply = Supply()
        self._kinds: dict[str, tuple[str, str]] = {}
        """By uid: of everything that is known to exist."""
        self._versions: dict[str, int] = {}
        self._deleted: dict[tuple[str, str], set[str]] = {}
        """By kind, while it is listed: what a watch saw go may stand in the list."""
        self._owners: dict[str, Raw] = {}
        self._jobs: dict[str, Job] = {}
        self._tried: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """Those with a best placement, by what other runs of the same job are found by."""
        self._holders: dict[str, Holder] = {}
        self._on_node: defaultdict[str, set[str]] = defaultdict(set)
        self._of_job: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """Pods that hold GPUs, by namespace and what runs of their job are found by."""
        self._runs = Runs()
        self._unreadable: set[str] = set()
        """JobProfiles that are none, or of another version."""
        self._nodes: dict[str, str] = {}
        """Their uids, by name: one that was made again may be seen before the old one goes."""
        self._node_names: dict[str, str] = {}

    # What listing.relist wants of an index.

    def see(self, served: Served, thing: Raw, deleted: bool) -> None:
        """One event, or one object of a list."""
        uid = fields.name(thing, "metadata", "uid")
        if uid is None:
            return
        keep = None if deleted else self._keeping(served, uid, thing)
        with self._lock:
            if keep is None:
                self._forget(uid)
                self._deleted.get(served.key, set()).add(uid)
                return
            if uid in self._deleted.get(served.key, ()) or not self._is_news(uid, thing):
                return
            self._kinds[uid] = served.key
            keep()

    def known(self, served: Served) -> frozenset[str]:
        """Asked for before a list is made."""
        with self._lock:
            self._deleted[served.key] = set()
            return frozenset(uid for uid, key in self._kinds.items() if key == served.key)

    def relisted(self, served: Served, known_before: frozenset[str], listed: set[str]) -> int:
        """What was known before a list was made, and is not in it, is gone; returns how many."""
        with self._lock:
            self._deleted.pop(served.key, None)
            gone = [uid for uid in known_before - listed if self._kinds.get(uid) == served.key]
            for uid in gone:
                self._forget(uid)
            return len(gone)

    def unreadable(self, served: Served) -> None:
        """Pods of such jobs are of none that is known."""
        self.relisted(served, self.known(served), set())

    # What a scheduler wants.

    def asked(self, pod: Raw) -> Asked:
        gpus = gpu_count(pod)
        with self._lock:
            job = self._job_of(pod)
            forged = _claims(pod) or (job is not None and job.forged)
            if job is None:
                return Asked(Needs(gpus), None, None, Unknowns.NO_JOB, forged)
            runs, best = self._runs.alike(job.lineage), job.best or self._tried_of(job.lineage)
            needs = needs_of(gpus, runs, best, self._supply.types)
        unknown = None if runs or best else Unknowns.NO_RUNS
        return Asked(needs, job.lineage, best, unknown, forged)

    def judge(self, names: list[str], needs: Needs, now: float) -> Judged:
        with self._lock:
            return judge(self._supply, names, needs, now)

    def ignored(self, now: float) -> dict[str, int]:
        with self._lock:
            return {str(why): count for why, count in self._supply.ignored(now).items()}

    def unreadable_profiles(self) -> int:
        with self._lock:
            return len(self._unreadable)

    def malformed_placements(self) -> int:
        """Jobs with a best placement of a trial that says nothing."""
        with self._lock:
            return sum(job.malformed for job in self._jobs.values())

    def counts(self) -> Counter[str]:
        with self._lock:
            return Counter(
                nodes=len(self._supply),
                pods=len(self._holders),
                jobs=len(self._jobs),
                runs=len(self._runs),
            )

    def _is_news(self, uid: str, thing: Raw) -> bool:
        """A list may be older than what a watch said meanwhile."""
        text = fields.name(thing, "metadata", "resourceVersion") or ""
        version = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0  # noqa: PLR2004
        if version < self._versions.get(uid, 0):
            return False
        self._versions[uid] = version
        return True

    # Objects, one kind each.

    def _keeping(self, served: Served, uid: str, thing: Raw) -> Callable[[], None]:
        """What is to be done under the lock; to read what nodes and profiles say takes longer than
        an answer, and nobody waits for it."""
        match served:
            case s if s == NODES:
                return partial(self._see_node, uid, node_of(thing))
            case s if s == PODS:
                return partial(self._see_pod, uid, thing)
            case s if s == PROFILES:
                return partial(self._see_profile, uid, _earlier(thing))
            case _:
                return partial(self._see_job, served, uid, thing)

    def _see_node(self, uid: str, node: Node | None) -> None:
        if node is None:
            self._forget_node(uid)
            return
        self._nodes[node.name] = uid
        self._node_names[uid] = node.name
        self._supply.put(node)
        self._hold(node.name)

    def _see_pod(self, uid: str, thing: Raw) -> None:
        node, phase = fields.name(thing, "spec", "nodeName"), fields.name(thing, "status", "phase")
        gpus = 0 if node is None or phase in OVER else gpu_count(thing)
        if node is None or not gpus:
            self._release(uid)
            return
        if uid not in self._holders:
            self.bound(uid, node)
        job = self._job_of(thing)
        holder = Holder(node, gpus, None if job is None else job.lineage)
        if self._holders.get(uid) == holder:
            return
        self._release(uid)
        self._holders[uid] = holder
        self._on_node[node].add(uid)
        for key in keys_of(holder.lineage):
            self._of_job[key].add(uid)
        self._hold(node)

    def _see_profile(self, uid: str, found: Earlier | ProfileError | None) -> None:
        self._unreadable.discard(uid)
        if isinstance(found, ProfileError):
            self._unreadable.add(uid)
        if not isinstance(found, Earlier):
            self._forget_run(uid)
            return
        if self._runs.lineage(uid) != found.lineage:
            self._forget_run(uid)
        if self._runs.put(uid, found.lineage, found.run):
            self._hold_all_of(found.lineage)

    def _see_job(self, served: Served, uid: str, thing: Raw) -> None:
        version = f"{served.group}/{served.version}" if served.group else served.version
        whole = {**thing, "apiVersion": version, "kind": served.name}
        metadata = fields.part(thing, "metadata")
        self._owners[uid] = {
            "apiVersion": version,
            "kind": served.name,
            "metadata": {key: metadata[key] for key in _OWNER_KEYS if key in metadata},
        }
        namespace = fields.name(metadata, "namespace")
        if namespace is None:
            return
        top = top_of(whole, self._lookup)
        series = None if isinstance(top, LeftAlone) else top.series
        lineage = Lineage(namespace, series_of(whole, series), template_of(whole))
        self._forget_job(uid)
        created = fields.name(metadata, "creationTimestamp") or ""
        job = self._jobs[uid] = Job(lineage, *_best(thing), created)
        for key in keys_of(lineage) if job.best is not None else ():
            self._tried[key].add(uid)

    # How they hang together.

    def _job_of(self, pod: Raw) -> Job | None:
        owned = job_of(pod, self._lookup)
        if isinstance(owned, LeftAlone):
            return None
        if owned.job.uid == fields.name(pod, "metadata", "uid"):
            whole = {**pod, "apiVersion": "v1", "kind": POD.name}
            return Job(Lineage(owned.namespace, series_of(whole), template_of(whole)))
        job = self._jobs.get(owned.job.uid)
        # Anybody may name another's job as the owner; in Kubernetes none owns across namespaces.
        return job if job is not None and job.lineage.namespace == owned.namespace else None

    def _tried_of(self, lineage: Lineage) -> BestPlacement | None:
        """What a trial of another run of the same job found: of the latest one."""
        uids = {uid for key in keys_of(lineage) for uid in self._tried.get(key, ())}
        latest = max(uids, key=lambda uid: (self._jobs[uid].created, uid), default=None)
        return None if latest is None else self._jobs[latest].best

    def _lookup(self, reference: Reference, _namespace: str) -> Raw | Unknown | None:
        return self._owners.get(reference.uid)

    def _hold(self, node: str) -> None:
        holders = [self._holders[uid] for uid in self._on_node.get(node, ())]
        spared = 1.0
        for lineage in {holder.lineage for holder in holders}:
            if lineage is not None:
                latest = self._runs.alike(lineage)[:1]
                spared *= 1.0 - sum(run.draws for run in latest)
        self._supply.hold(node, sum(holder.gpus for holder in holders), spared)

    def _hold_all_of(self, lineage: Lineage) -> None:
        """Nodes with pods of that job: by an earlier run of it, they may draw more or less."""
        pods = {pod for key in keys_of(lineage) for pod in self._of_job.get(key, ())}
        for node in {self._holders[pod].node for pod in pods}:
            self._hold(node)

    def _release(self, uid: str) -> None:
        before = self._holders.pop(uid, None)
        if before is not None:
            _discard(self._on_node, before.node, uid)
            for key in keys_of(before.lineage):
                _discard(self._of_job, key, uid)
            self._hold(before.node)

    def _forget(self, uid: str) -> None:
        self._kinds.pop(uid, None)
        self._versions.pop(uid, None)
        self._owners.pop(uid, None)
        self._unreadable.discard(uid)
        self._forget_job(uid)
        self._release(uid)
        self._forget_node(uid)
        self._forget_run(uid)

    def _forget_job(self, uid: str) -> None:
        before = self._jobs.pop(uid, None)
        for key in keys_of(before.lineage) if before is not None and before.best else ():
            _discard(self._tried, key, uid)

    def _forget_run(self, uid: str) -> None:
        lineage = self._runs.lineage(uid)
        self._runs.drop(uid)
        if lineage is not None:
            self._hold_all_of(lineage)

    def _forget_node(self, uid: str) -> None:
        name = self._node_names.pop(uid, None)
        if name is not None and self._nodes.get(name) == uid:
            del self._nodes[name]
            self._supply.drop(name)


def _discard(sets: dict[K, set[str]], key: K, uid: str) -> None:
    """And leaves no empty set behind."""
    sets[key].discard(uid)
    if not sets[key]:
        del sets[key]


def _earlier(thing: Raw) -> Earlier | ProfileError | None:
    """None where nothing was measured."""
    try:
        profile = from_document({key: thing[key] for key in thing if key not in _OWN})
        run = run_of(profile)
    except ProfileError as problem:
        return problem
    if run is None or fields.name(thing, "metadata", "namespace") != profile.job.namespace:
        return None  # what stands in one namespace says nothing of another's jobs
    return Earlier(Lineage(profile.job.namespace, profile.series, profile.template), run)


def _claims(pod: Raw) -> bool:
    """A pod without a node has no annotation of ours: only an agent writes any, on its own node.
    Some are for people to write."""
    keys = [key for key, _ in fields.pairs(pod, "metadata", "annotations") if codec.is_ours(key)]
    return any(key.removeprefix(PREFIX) not in OF_PEOPLE for key in keys)


def _best(job: Raw) -> tuple[BestPlacement | None, bool, bool]:
    """That a trial wrote; whether there is one that somebody else did, or one that is none."""
    annotations = fields.part(job, "metadata", "annotations")
    applied = applied_keys(job, TRIALS_MANAGER)
    mine = {key: text for key, text in annotations.items() if key in applied}
    written = decode_job(mine).facts.best_placement
    forged = written is None and decode_job(annotations).facts.best_placement is not None
    return written, forged, written is None and bool(mine) and not forged
