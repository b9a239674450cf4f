"""Translation of tasks and workers to pods and nodes, and of the core's reasons to tasks and workers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import evolve, field

from .._base.validators import has
from .._base.value import value
from .._base.wording import described
from ..api import (
    DO_NOT_SCHEDULE,
    IN,
    LABEL_HOSTNAME,
    NO_SCHEDULE,
    NOT_IN,
    PODS,
    SCHEDULE_ANYWAY,
    TAINT_UNSCHEDULABLE,
    Container,
    GangSchedulingPolicy,
    LabelSelector,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodGroup,
    PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodSchedulingGroup,
    PodSpec,
    PreferredSchedulingTerm,
    Quantity,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologyConstraint,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from ..api import Affinity as PodAndNodeAffinity
from ..errors import InputError
from .amounts import PREFIX, Amounts
from .values import Affinity, AntiAffinity, Group, Limits, Requirements, T, TaskLike, Values, WorkerLike

NAMESPACE: Final = "default"
_ANY_NUMBER: Final = 2**31 - 1
_PREFERRED_WEIGHT: Final = 100
_RESERVED: Final = "reserved/"
_EXISTS: Final = "Exists"
_SHARED_SPECS: Final = 4096
"""Specs that are kept to be shared; then all are dropped."""


def pod_key(task_key: str) -> str:
    """Return the core's key of a task."""
    return f"{NAMESPACE}/{task_key}"


@value(eq=False)
class Translator:
    """Translates tasks to pods and workers to nodes. ``default_profile`` places tasks that name none."""

    amounts: Amounts = field(factory=Amounts)
    default_profile: str = "default-scheduler"
    _plain_specs: dict[tuple[tuple[str, Quantity], ...], PodSpec] = field(factory=dict, init=False)

    def group_to_pods(
        self, group: Group[T], needs: Callable[[T], Requirements | None]
    ) -> tuple[PodGroup, tuple[Pod, ...]]:
        """Return *group* and its tasks, each with what ``needs(task)`` says. Raises :class:`InputError`."""
        _check_key("key", group.name)
        constraints = PodGroupSchedulingConstraints((TopologyConstraint(group.within),))
        spec = PodGroupSpec(
            PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(group.min_count)),
            constraints if group.within else None,
        )
        member = PodSchedulingGroup(group.name)
        alone: PodSpec | None = None
        shared: PodSpec | None = None
        pods = []
        for task in group.tasks:
            pod = self.task_to_pod(task, needs(task))
            if pod.spec is not alone:
                alone, spec_of_pod = pod.spec, evolve(pod.spec, scheduling_group=member)
                if spec_of_pod != shared:
                    shared = spec_of_pod  # else one object: what is found out about a spec is kept there
            assert shared is not None
            pods.append(Pod(pod.metadata, shared))
        return PodGroup(ObjectMeta(name=group.name, namespace=NAMESPACE), spec), tuple(pods)

    def task_to_pod(self, task: TaskLike, needs: Requirements | None = None) -> Pod:
        """Return *task* as a pod without a node. Raises :class:`InputError`."""
        has("task", task, ("key", "requests", "labels"), "give a Task, or an object with these")
        _check_key("key", task.key)
        _check_maps(requests=task.requests, labels=task.labels)
        requests = self.amounts.quantities(task.requests, "requests")
        metadata = ObjectMeta(name=task.key, namespace=NAMESPACE, labels=dict(task.labels))
        if needs is None or needs == _NO_NEEDS:
            return Pod(metadata, self._plain_spec(requests))
        container = Container(name="task", resources=ResourceRequirements(requests))
        spec = PodSpec(
            containers=(container,),
            scheduler_name=needs.profile or self.default_profile,
            priority=needs.priority,
            affinity=_affinity(needs),
            tolerations=tuple(
                [Toleration(_RESERVED + mark, _EXISTS, effect=NO_SCHEDULE) for mark in sorted(needs.accepts)]
            ),
            topology_spread_constraints=tuple(
                [
                    TopologySpreadConstraint(
                        max_skew=spread.max_skew,
                        topology_key=spread.by or LABEL_HOSTNAME,
                        when_unsatisfiable=DO_NOT_SCHEDULE if spread.required else SCHEDULE_ANYWAY,
                        label_selector=LabelSelector(dict(spread.among)),
                    )
                    for spread in needs.spread
                ]
            ),
        )
        return Pod(metadata, spec)

    def _plain_spec(self, requests: Mapping[str, Quantity]) -> PodSpec:
        """Return the spec of a task that only requests amounts; equal ones are one object.

        What the scheduler finds out about a spec it keeps there.
        """
        key = tuple(requests.items())
        spec = self._plain_specs.get(key)
        if spec is None:
            if len(self._plain_specs) >= _SHARED_SPECS:
                self._plain_specs.clear()
            container = Container(name="task", resources=ResourceRequirements(requests))
            spec = self._plain_specs[key] = PodSpec((container,), scheduler_name=self.default_profile)
        return spec

    def worker_to_node(self, worker: WorkerLike, limits: Limits | None = None) -> Node:
        """Return *worker* as a node. Raises :class:`InputError`."""
        has(
            "worker",
            worker,
            ("key", "capacity", "labels"),
            "give a Worker, or an object with these",
        )
        _check_key("key", worker.key)
        _check_maps(capacity=worker.capacity, labels=worker.labels)
        if limits is not None and not isinstance(limits, Limits):
            raise InputError("limits", f"{described(limits)} is not what a worker allows", "give Limits")
        limits = limits or _NO_LIMITS
        capacity = self.amounts.quantities(worker.capacity, "capacity")
        capacity[PODS] = Quantity.of(_ANY_NUMBER if limits.max_tasks is None else limits.max_tasks)
        taints = [Taint(_RESERVED + mark, effect=NO_SCHEDULE) for mark in sorted(limits.reserved)]
        if limits.closed:
            taints.append(Taint(TAINT_UNSCHEDULABLE, effect=NO_SCHEDULE))
        return Node(
            ObjectMeta(name=worker.key, labels={LABEL_HOSTNAME: worker.key, **worker.labels}),
            NodeSpec(unschedulable=limits.closed, taints=tuple(taints)),
            NodeStatus(capacity=capacity, allocatable=capacity),
        )


_NO_NEEDS: Final = Requirements()
_NO_LIMITS: Final = Limits()


def _check_key(path: str, key: object) -> None:
    if not isinstance(key, str) or not key:
        raise InputError(path, f"{key!r} is not a key", "give a text that is not empty")


def _check_maps(**maps: object) -> None:
    for path, given in maps.items():
        if not isinstance(given, Mapping):
            raise InputError(path, f"{described(given)} is not a mapping", "give a dict")


def _affinity(needs: Requirements) -> PodAndNodeAffinity | None:
    to_workers = _worker_affinity(needs)
    together = _terms(needs.together)
    apart = _terms(needs.apart)
    if to_workers is None and together is None and apart is None:
        return None
    return PodAndNodeAffinity(
        to_workers,
        PodAffinity(*together) if together is not None else None,
        PodAntiAffinity(*apart) if apart is not None else None,
    )


def _worker_affinity(needs: Requirements) -> NodeAffinity | None:
    wanted = (*_requirements(needs.on, IN), *_requirements(needs.not_on, NOT_IN))
    terms: tuple[NodeSelectorTerm, ...] = (NodeSelectorTerm(wanted),) if wanted else ()
    if needs.workers:
        terms = tuple(
            [
                NodeSelectorTerm(wanted, (NodeSelectorRequirement("metadata.name", IN, (key,)),))
                for key in sorted(needs.workers)
            ]
        )
    preferred = tuple(
        [PreferredSchedulingTerm(1, NodeSelectorTerm((one,))) for one in _requirements(needs.prefers, IN)]
    )
    if not terms and not preferred:
        return None
    return NodeAffinity(NodeSelector(terms) if terms else None, preferred)


def _requirements(labels: Mapping[str, Values], operator: str) -> tuple[NodeSelectorRequirement, ...]:
    return tuple(
        [
            NodeSelectorRequirement(
                key, operator, (values,) if isinstance(values, str) else tuple(sorted(values))
            )
            for key, values in sorted(labels.items())
        ]
    )


_Terms = tuple[tuple[PodAffinityTerm, ...], tuple[WeightedPodAffinityTerm, ...]]


def _terms(affinities: Iterable[Affinity | AntiAffinity]) -> _Terms | None:
    """Return required and preferred terms; ``None`` without any."""
    terms = [
        (
            affinity.required,
            PodAffinityTerm(LabelSelector(dict(affinity.among)), topology_key=affinity.by or LABEL_HOSTNAME),
        )
        for affinity in affinities
    ]
    if not terms:
        return None
    return (
        tuple([term for required, term in terms if required]),
        tuple([WeightedPodAffinityTerm(_PREFERRED_WEIGHT, term) for required, term in terms if not required]),
    )


# ---- text ------------------------------------------------------------------------------------------------

_WORDS: Final = {
    "nodes": "workers",
    "node": "worker",
    "Nodes": "Workers",
    "Node": "Worker",
    "pods": "tasks",
    "pod": "task",
    "Pods": "Tasks",
    "Pod": "Task",
    "untolerated taint(s)": "reservations that the task does not accept",
}
_WORD: Final = re.compile(
    r"\b(?:" + "|".join(map(re.escape, sorted(_WORDS, key=len, reverse=True))) + r")(?!\w)"
)


def in_words_of_tasks(text: str) -> str:
    """Return a reason of the core or of a plugin in words of tasks and workers, with plain resource names."""
    return _WORD.sub(lambda match: _WORDS[match[0]], text).replace(PREFIX, "")


def failure_text(reasons: Mapping[str, int], workers: int, more: str = "") -> str:
    """Return ``0 of 3 workers can take it: 2 Insufficient gpu, …``."""
    counted = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    text = f"0 of {workers} workers can take it"
    return ". ".join(part for part in (f"{text}: {counted}" if counted else text, more) if part)
