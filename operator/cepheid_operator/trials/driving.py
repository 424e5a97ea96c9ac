"""Carries out what was decided for each PlacementTrial: `one_pass` is the map of it.

The status is written first, then what it says is done: an instance that ends in between leaves
nothing that the next one would not decide again.
"""

import logging
import threading

from cepheid.errors import ApiError, GoneError
from cepheid.placementtrial import TrialStatus, to_document
from cepheid.sources.jobs import JobReader
from cepheid_operator.api import PLACEMENT_TRIAL
from cepheid_operator.eventing import About, Word, tell
from cepheid_operator.hands import AWAY
from cepheid_operator.means import Means
from cepheid_operator.trials.book import Book, Entry
from cepheid_operator.trials.decide import Action, Observed, Remove, decide
from cepheid_operator.trials.making import make
from cepheid_operator.trials.marking import mark
from cepheid_operator.trials.observing import Earlier, Memory, Observing
from cepheid_operator.trials.requests import Requests, job_kind
from cepheid_operator.trials.telling import told

LOG = logging.getLogger("cepheid.operator")
PASS_SECONDS = 3.0
DRIVING = "trying placements"
MARKING = "telling the job"


class Driving:
    """For one thread."""

    def __init__(self, means: Means, book: Book, reader: JobReader, earlier: Earlier) -> None:
        self._means, self._book = means, book
        self._requests = Requests(means)
        self._observing = Observing(means, self._requests, book, reader, earlier)
        self._memories: dict[str, Memory] = {}

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(PASS_SECONDS):
            self._means.telemetry.alive("trials")
            self.one_pass()

    def one_pass(self) -> None:
        to_do = self._book.to_do()
        uids = {entry.uid for entry in to_do}
        self._memories = {uid: kept for uid, kept in self._memories.items() if uid in uids}
        for entry in to_do:
            trouble = f"{DRIVING} for {entry}"
            try:
                self._one(entry, self._memories.setdefault(entry.uid, Memory()))
            except GoneError:
                self._book.forget(entry)
            except ApiError as problem:
                # Also where it seems to be away: a webhook of one namespace looks like that, and
                # the others go on. If it is the API server, the Lease ends this soon.
                self._means.troubles.happened(trouble, problem)
                continue
            self._means.troubles.over(trouble)

    def _one(self, entry: Entry, memory: Memory) -> None:
        observed = self._observing.look(entry, memory)
        decision = decide(entry.spec, entry.status, observed)
        changed = decision.status != entry.status
        if changed:
            before = entry.status
            document = to_document(decision.status) | {"observedGeneration": entry.generation}
            self._requests.write_status(entry.namespace, entry.name, entry.uid, document)
            entry.status = decision.status
            self._tell(entry, before)
        for action in decision.actions:
            self._act(entry, memory, observed, action)
        if entry.is_over:
            if not self._book.is_superseded(entry):
                self._mark(entry)
            settled = not any(trial.reserved_gpu_seconds for trial in entry.status.trials)
            entry.at_rest = settled and not changed and not decision.actions

    def _act(self, entry: Entry, memory: Memory, observed: Observed, action: Action) -> None:
        if isinstance(action, Remove):
            self._remove(entry, action)
        elif observed.template is not None:
            trial = action.trial
            said = make(
                self._requests,
                entry,
                observed.template,
                self._observing.nodes,
                trial.placement,
                name=trial.job,
                planned_seconds=trial.planned_seconds,
            )
            if said is not None:
                memory.refusals[trial.job] = said

    def _mark(self, entry: Entry) -> None:
        trouble = f"{MARKING} of {entry}"
        try:
            mark(self._means, self._requests, entry)
            self._means.troubles.over(trouble)
        except AWAY:
            raise
        except ApiError as problem:
            # The status says it too; the cluster does not want it on the job.
            self._means.troubles.happened(trouble, problem)

    def _remove(self, entry: Entry, action: Remove) -> None:
        job = entry.spec.job
        try:
            kind = job_kind(job.api_version, job.kind)
            self._requests.delete(kind, entry.namespace, action.job)
        except GoneError:
            return

    def _tell(self, entry: Entry, before: TrialStatus) -> None:
        about = About(
            api_version=PLACEMENT_TRIAL.api_version,
            kind=PLACEMENT_TRIAL.name,
            namespace=entry.namespace,
            name=entry.name,
            uid=entry.uid,
        )
        for one in told(before, entry.status):
            LOG.info("%s: %s: %s", entry, one.reason, one.words)
            word = Word(
                reason=one.reason,
                words=one.words,
                action="Tried",
                warning=one.warning,
                key=one.about,
            )
            self._means.check()
            try:
                tell(self._means.hands.server(), about, word, self._means.wall())
            except ApiError as problem:
                # The status says it too: not worth another try.
                self._means.troubles.happened("writing Events", problem)
