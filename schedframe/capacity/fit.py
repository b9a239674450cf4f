"""Number of pods that fit in addition: they are scheduled one after the other until one finds no node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final, Unpack

from attrs import field
from typing_extensions import override

from .._base.brief import brief_of
from .._base.garbage import collecting_later
from .._base.tables import Cell, Table, Tabular
from .._base.validators import number
from .._base.value import record
from ..api import AnyPod, Pod
from ..errors import InputError
from ..fork import Fork, Placement
from ..fork.sources import ForkSource
from .advice import API_VERSION, Obstacle, obstacle_of
from .deletions import deleted_in
from .question import QuestionOptions, asked_fork
from .templates import Template, template_of

BATCH: Final = 1024
"""Rounds that are tried together at most; of a batch that does not fit, the first part is tried again."""

Advance = Callable[[int], None]


@record(frozen=True, repr=False)
class CapacityFit(Tabular):
    """Numbers of pods that fit in addition. ``str()`` and notebooks show a table, ``to_dataframe()`` all."""

    fits: Mapping[str, int]
    """``namespace/name`` of each pod or workload → how many more of it fit."""
    rounds: int
    """How often all of them fit, each as often as the mix says."""
    by_node: Mapping[str, Mapping[str, int]]
    """Node → pod or workload → how many more of it get there. Nodes without any are left out."""
    stopped_by: Obstacle | None = None
    """What keeps the next one from a node; ``None`` if the given number was reached."""
    preempted: tuple[str, ...] = ()
    """Pods that would have to go, ``namespace/name``: only if preemption was asked for."""

    @property
    def nodes(self) -> dict[str, int]:
        """Node → how many more pods get there, the node with most first."""
        found = {name: sum(counts.values()) for name, counts in self.by_node.items()}
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in plain types."""
        return {
            "apiVersion": API_VERSION,
            "kind": "CapacityFit",
            "fits": dict(self.fits),
            "rounds": self.rounds,
            "nodes": self.nodes,
            "stoppedBy": None if self.stopped_by is None else self.stopped_by.to_dict(),
            "preempted": list(self.preempted),
        }

    @override
    def __repr__(self) -> str:
        return brief_of(self, fits=dict(self.fits), rounds=self.rounds, nodes=len(self.by_node))

    @override
    def _table(self) -> Table:
        columns = {"node": str} | dict.fromkeys(self.fits, int)
        rows: list[tuple[Cell, ...]] = [
            (name, *[self.by_node[name].get(key, 0) for key in self.fits]) for name in self.nodes
        ]
        return Table(columns, rows)


def fit(
    cluster: ForkSource,
    pods: AnyPod | str | Iterable[AnyPod | str],
    *,
    mix: Mapping[str, int] | None = None,
    most: int | None = None,
    preempt: bool = False,
    on_round: Advance | None = None,
    **options: Unpack[QuestionOptions],
) -> CapacityFit:
    """Return how many more of *pods* fit into *cluster*, on which nodes, and what stops the next one.

    ``cluster`` and ``options``: as for :meth:`Fork.of`, ``config`` included. ``pods``: names of pods,
    workloads such as ``deployment/web``, or pods and manifests. Several are placed in rounds, one of each in
    the order given; ``mix`` says how many of each, by the same names. A round that does not fit whole is
    undone. ``most``: rounds at most. ``preempt``: they may make room for themselves. ``on_round`` is called
    with the number of rounds after each step. Pods that wait are placed first, unless ``after=False``, but
    for those without a controller that are named: these are among those that are counted.

    The scheduler decides about each pod; quotas are not looked at. Nothing is changed. Raises
    :class:`InputError` for a name that is not there, or a mix that does not fit the names.
    """
    if most is not None:
        number("most", most, "give a number from 0", whole=True, least=0)
    fork, after = asked_fork(cluster, options)
    with fork:
        shares = _shares(fork, _listed(pods), mix)
        if after and fork.pending():
            fork.schedule()
        preemption = nullcontext() if preempt else fork.scheduler.without_preemption()
        # What is placed stays; looking at it again took a third of the time of 80,000 pods on 5,000 nodes.
        with preemption, collecting_later():
            return _Filling(fork, shares, is_single_step=preempt).fill(most, on_round)


def _listed(pods: Any) -> list[Any]:
    if isinstance(pods, str | Mapping | Pod) or not isinstance(pods, Iterable):
        return [pods]
    return list(pods)


def _shares(fork: Fork, pods: Sequence[Any], mix: Mapping[str, int] | None) -> list[tuple[Template, int]]:
    """Return what is placed in a round, and how many of each, in order."""
    if not pods:
        raise InputError("pods", "nothing is named", "name a pod, or a workload such as deployment/web")
    templates = [template_of(fork, each) for each in pods]
    keys = Counter(each.key for each in templates)
    for key, times in keys.items():
        if times > 1:
            raise InputError("pods", f"{key} is named {times} times", "name each once; mix says how many")
    left = dict(mix or {})
    shares = []
    for wanted, template in zip(pods, templates, strict=True):
        names = [wanted] if isinstance(wanted, str) else []
        names += [template.key, template.key.rpartition("/")[2]]
        found = next((name for name in names if name in left), None)
        share = 1 if mix is None else left.pop(found, 0) if found is not None else 0
        if not isinstance(share, int) or share < 1:
            raise InputError("mix", f"it has no number from 1 for {template.key}", "say how many in a round")
        shares.append((template, share))
    if left:
        raise InputError("mix", f"{', '.join(left)} is not among the pods", "name it there, too")
    return shares


@record(eq=False)
class _Filling:
    """Pods that are placed in a fork, round by round."""

    fork: Fork
    shares: Sequence[tuple[Template, int]]
    is_single_step: bool
    """Whether each round is tried by itself, because pods may make room for themselves."""
    rounds: int = 0
    placed: dict[str, tuple[str, str]] = field(factory=dict)
    """Pod → template and node."""
    preempted: list[str] = field(factory=list)
    stopped_by: Obstacle | None = None

    def fill(self, most: int | None, on_round: Advance | None) -> CapacityFit:
        """Place rounds until one does not fit, or *most* are placed; O(1) a pod beside the scheduler."""
        step, is_growing = 1, not self.is_single_step
        while (tried := step if most is None else min(step, most - self.rounds)) > 0:
            done = self._try(tried)
            if on_round is not None:
                on_round(self.rounds)
            if done < tried and tried == 1:
                break
            is_growing = is_growing and done == tried
            step = min(2 * step, BATCH) if is_growing else done if done < tried else 1
            step = max(step, 1)
        return self._result()

    def _try(self, rounds: int) -> int:
        """Place that number of *rounds* and keep them, or none; return how many of them would be complete."""
        with self.fork.trial() as trial, deleted_in(self.fork) as deleted:
            placed: dict[str, tuple[str, str]] = {}
            for template, placement in self._placements(rounds):
                is_undone = any(pod.key in self.placed or pod.key in placed for pod in deleted)
                if placement.node_name is None or is_undone:
                    if rounds == 1:
                        self.stopped_by = self._obstacle(template, placement, is_undone)
                    return len(placed) // sum(share for _, share in self.shares)
                placed[placement.pod.key] = (template.key, placement.node_name)
            trial.keep()
        self.rounds += rounds
        self.placed |= placed
        self.preempted += [pod.key for pod in deleted]
        return rounds

    def _placements(self, rounds: int) -> Iterator[tuple[Template, Placement]]:
        """Yield the results of the pods of *rounds*, in order."""
        if len(self.shares) == 1:
            ((template, share),) = self.shares
            for placement in self.fork.schedule(template.more(self.fork, rounds * share)):
                yield template, placement
            return
        for _ in range(rounds):
            for template, share in self.shares:
                for placement in self.fork.schedule(template.more(self.fork, share)):
                    yield template, placement

    def _obstacle(self, template: Template, placement: Placement, is_undone: bool) -> Obstacle:
        if is_undone:
            message = "it fits only in the place of one that was placed before it"
            return Obstacle(template.key, message)
        return obstacle_of(self.fork, placement.pod, template.key, placement.message)

    def _result(self) -> CapacityFit:
        by_node: dict[str, Counter[str]] = {}
        for key, node_name in self.placed.values():
            by_node.setdefault(node_name, Counter())[key] += 1
        fits = {template.key: self.rounds * share for template, share in self.shares}
        return CapacityFit(fits, self.rounds, by_node, self.stopped_by, tuple(self.preempted))
