"""Schedule the pods of manifests and record attempts and reasons."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from attrs import field
from typing_extensions import override

from ..._base.value import record
from ...api import Pod
from ...config import EffectiveConfig
from ...cycle import Decision, SchedulerObserver
from ...cycle.search.search import Search
from ...errors import InputError
from ...fork.placements import reasons_alike
from ...framework import Diagnosis, Framework, Registry, Status
from ...queue import QueuedPodInfo
from ...simulate import Evaluation, Placement, Simulation
from ..options import EVERY_PENDING
from ..output.terminal import Advance, LineFormatter, note
from .outcome import Fate, Outcome, usage_of
from .proposals import proposals_for
from .sources import Manifests
from .what_if import WhatIf


@record(eq=False)
class Notes(SchedulerObserver):
    """Attempts of each pod, and the reasons of its last rejection."""

    advance: Advance
    attempts: Counter[str] = field(factory=Counter)
    reasons: dict[str, tuple[str, ...]] = field(factory=dict)
    faults: dict[str, str] = field(factory=dict)
    """Uid of a pod → the plugin whose fault ended its last cycle."""

    @override
    def decided(self, profile: str, info: QueuedPodInfo, decision: Decision) -> None:
        uid = decision.pod.uid
        self.attempts[uid] += 1
        if self.attempts[uid] == 1:
            self.advance()
        self.faults.pop(uid, None)
        if decision.error is not None and decision.error.plugin:
            self.faults[uid] = decision.error.plugin
        if decision.diagnosis is None:
            self.reasons.pop(uid, None)
            if decision.error is not None and (alike := _alike(decision.error)):
                self.reasons[uid] = alike
            return
        status = decision.diagnosis.pre_filter_status
        reasons = reasons_alike(status) if status is not None else _reasons_of_nodes(decision.diagnosis)
        self.reasons[uid] = tuple(sorted(set(reasons)))

    def fate(self, placement: Placement) -> Fate:
        """Return the result for a pod with its attempts and reasons."""
        pod = placement.pod
        reasons: tuple[str, ...] = ()
        if placement.node_name is None:
            reasons = self.reasons.get(pod.uid) or (placement.alike or placement.message,)
        return Fate(pod, placement.node_name, placement.message, reasons, self.attempts[pod.uid])


def _reasons_of_nodes(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield the reasons that the message counts, without the names in them."""
    counted = diagnosis.reasons()
    statuses = [*diagnosis.verdicts.statuses, *diagnosis.named.values()]
    alike = {
        reason: shared
        for status in statuses
        for reason, shared in zip(status.reasons, reasons_alike(status), strict=True)
    }
    return (alike.get(reason, reason) for reason in counted)


def _alike(error: Status) -> tuple[str, ...]:
    """Return the reasons that pods have in common which fail likewise; none without an exception."""
    found = (error.details or {}).values()
    return tuple(data["alike"] for data in found if isinstance(data, Mapping) and "alike" in data)


class ExplainingSearch(Search):
    """A search that evaluates one pod on all nodes just before its turn, in the cluster of that moment."""

    __slots__ = ("_simulation", "evaluation", "key", "preempting")

    def __init__(self, simulation: Simulation, key: str) -> None:
        real = simulation.scheduler.core.search
        super().__init__(real.cache, real.rng, real.sampling, real.shortcuts, real.fast, real.extending)
        self._simulation = simulation
        self.key = key
        self.evaluation: Evaluation | None = None
        self.preempting: Evaluation | None = None
        """An earlier turn, in which it made room for itself."""

    def decide(self, framework: Framework, pod: Pod) -> Decision:
        """Decide as the replaced search does; the evaluation changes nothing and draws no random numbers."""
        if pod.key == self.key:
            if self.evaluation is not None and self.evaluation.preemption is not None:
                self.preempting = self.evaluation
            self.evaluation = self._simulation.evaluate(pod)
        return super().decide(framework, pod)


def schedule(
    manifests: Manifests,
    config: EffectiveConfig,
    registry: Registry,
    *,
    seed: int,
    explain: str | None,
    advance: Advance,
    what_if: WhatIf = WhatIf(),  # noqa: B008  # a frozen value
) -> Outcome:
    """Place the pending pods of *manifests*; *advance* is called at the first attempt of each.

    *what_if* is done before that.

    *explain* is a pod (``name`` or ``namespace/name``) or :data:`EVERY_PENDING`. Raises :class:`InputError`
    if there is no such pending pod.
    """
    notes = Notes(advance)
    simulation = _simulation_of(manifests, config, registry, seed, what_if, notes)
    before = [pod for pod in simulation.cluster.list("Pod") if pod.spec.node_name]
    pending = simulation.pending()
    search = None
    if explain not in (None, EVERY_PENDING):
        search = ExplainingSearch(simulation, find(str(explain), pending, before).key)
        simulation.scheduler.core.search = search
    placements = simulation.schedule()
    _note_what_followed(simulation, manifests)
    outcome = Outcome(
        fates=[notes.fate(placement) for placement in placements],
        nodes=len(simulation.cluster.list("Node")),
        running=len(before),
        preempted=[pod for pod in before if simulation.cluster.get("Pod", pod.key) is None],
        usage=usage_of(simulation.scheduler.core.cache.table),
        skipped=dict(sorted(manifests.skipped.items())),
        faults=sorted(set(notes.faults.values())),
        refused=[*manifests.refused, *simulation.refused],
    )
    if explain is not None:
        outcome.explanations = list(_explanations(simulation, outcome, search))
        explained = {evaluation.pod.key for evaluation in outcome.explanations}
        pending = [fate.pod for fate in outcome.pending if fate.pod.key in explained]
        outcome.proposals = proposals_for(simulation, pending)
    return outcome


def _simulation_of(
    manifests: Manifests,
    config: EffectiveConfig,
    registry: Registry,
    seed: int,
    what_if: WhatIf,
    observer: SchedulerObserver,
) -> Simulation:
    """Return the cluster of *manifests* after *what_if*."""
    left_out = manifests.without
    simulation = Simulation(
        manifests.objects, config, seed=seed, registry=registry, without=left_out, observers=[observer]
    )
    simulation.given |= manifests.given
    if what_if:
        with simulation.fork() as fork:
            what_if.apply(fork)
            simulation.take(fork.diff())
    return simulation


def _note_what_followed(simulation: Simulation, manifests: Manifests) -> None:
    """Write the notes about what was played since the manifests were read."""
    known = manifests.notes()
    for line in simulation.notes():
        if line not in known:
            note(line)


def _explanations(
    simulation: Simulation, outcome: Outcome, search: ExplainingSearch | None
) -> Iterator[Evaluation]:
    """Of the pod that was asked for as it was when its turn came; of pending ones as the cluster is now."""
    if search is not None and search.evaluation is not None:
        if search.preempting is not None:
            yield search.preempting
        yield search.evaluation
        return
    for fate in outcome.pending:
        if search is None or search.key == fate.pod.key:
            yield simulation.evaluate(fate.pod)


def find(wanted: str, pending: Iterable[Pod], placed: Iterable[Pod]) -> Pod:
    """Return the pending pod that *wanted* names. Raises :class:`InputError` for none and for several."""
    found = [pod for pod in pending if wanted in (pod.key, pod.name)]
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(pod.key for pod in found)
        raise InputError("--explain", f"{len(found)} pending pods are named {wanted}", f"say which: {keys}")
    for pod in placed:
        if wanted in (pod.key, pod.name):
            raise InputError(
                "--explain", f"{pod.key} is on {pod.node_name} already", "name a pod that is to be scheduled"
            )
    raise InputError("--explain", f"no pod is named {wanted}", "write its name or namespace/name")


@contextmanager
def faults_shown(verbose: bool) -> Iterator[None]:
    """Show faults of plugins with tracebacks on stderr if *verbose*; the reasons of pods name them anyway."""
    logger = logging.getLogger("schedframe")
    handler: logging.Handler = logging.StreamHandler() if verbose else logging.NullHandler()
    handler.setFormatter(LineFormatter())
    propagates = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
