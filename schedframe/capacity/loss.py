"""Cost of a loss: each node, or each value of a label, is taken away in a trial of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Unpack

from typing_extensions import override

from .._base.brief import brief_of
from .._base.garbage import collecting_later
from .._base.tables import Cell, Table, Tabular
from .._base.value import record
from ..api import Node, Pod
from ..errors import InputError
from ..fork import Fork
from ..fork.evicting import is_made_again, is_of_its_node, made_again
from ..fork.sources import ForkSource
from .advice import API_VERSION
from .deletions import deleted_in
from .question import QuestionOptions, settled_fork

NODE: Final = "node"
"""``by`` of single nodes."""
UNOWNED: Final = "nothing makes it again"
"""Why a pod is lost that has no controller."""


@record(frozen=True)
class LostPod:
    """A pod that finds no place."""

    pod: str
    """``namespace/name``."""
    message: str
    """Why not."""

    def __str__(self) -> str:
        return f"{self.pod}: {self.message}"


@record(frozen=True)
class DomainLoss:
    """Fate of the pods of one domain when all of its nodes go."""

    domain: str
    """The node, or the value of the label."""
    nodes: tuple[str, ...]
    lost: tuple[LostPod, ...] = ()
    """Pods that find no place, those that make room for others and find none included."""
    rescheduled: Mapping[str, str] = {}
    """Pod, ``namespace/name`` → the node that it gets; those of daemon sets go with their node."""

    def to_dict(self) -> dict[str, Any]:
        """Return the loss in plain types."""
        return {
            "domain": self.domain,
            "nodes": list(self.nodes),
            "lost": [{"pod": each.pod, "message": each.message} for each in self.lost],
            "rescheduled": [{"pod": pod, "node": name} for pod, name in self.rescheduled.items()],
        }


@record(frozen=True, repr=False)
class CapacityLoss(Tabular):
    """Cost of each loss, the worst first. ``str()`` and notebooks show a table."""

    by: str
    """``node``, or the label."""
    domains: tuple[DomainLoss, ...]

    @property
    def worst(self) -> DomainLoss | None:
        """The domain with most lost pods; ``None`` if there are no domains."""
        return self.domains[0] if self.domains else None

    @property
    def is_survived(self) -> bool:
        """Return whether all pods find a place, whichever domain goes."""
        return not any(each.lost for each in self.domains)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer in plain types."""
        return {
            "apiVersion": API_VERSION,
            "kind": "CapacityLoss",
            "by": self.by,
            "domains": [each.to_dict() for each in self.domains],
        }

    @override
    def __repr__(self) -> str:
        return brief_of(self, by=self.by, domains=len(self.domains), worst=self.worst)

    @override
    def _table(self) -> Table:
        columns = {self.by: str, "nodes": int, "lost": int, "rescheduled": int, "lost_pods": list}
        rows: list[tuple[Cell, ...]] = [
            (
                each.domain,
                len(each.nodes),
                len(each.lost),
                len(each.rescheduled),
                [lost.pod for lost in each.lost],
            )
            for each in self.domains
        ]
        return Table(columns, rows)


def loss(
    cluster: ForkSource,
    *,
    by: str = NODE,
    only: Iterable[str] | None = None,
    on_domain: Callable[[], None] | None = None,
    **options: Unpack[QuestionOptions],
) -> CapacityLoss:
    """Return which pods find no place when a node goes, for each node; the worst first.

    ``by``: a label such as ``topology.kubernetes.io/zone`` instead: all nodes with one value go together,
    and nodes without the label stay. ``only``: these nodes or values and no others. ``on_domain`` is called
    after each. ``cluster`` and ``options``: as for :func:`fit`.

    Pods with a controller are made again and scheduled on what is left, with preemption; victims of it are
    made again, too. Pods that were waiting go on waiting. Nothing is changed. Raises :class:`InputError` for
    a label that no node has, or a domain that is not there.
    """
    with settled_fork(cluster, options) as fork, fork.fork() as asked, collecting_later():
        found = []
        for domain, nodes in _domains(asked, by, only).items():
            found.append(_loss_of(asked, domain, nodes))
            if on_domain is not None:
                on_domain()
    found.sort(key=lambda each: (-len(each.lost), -len(each.rescheduled)))
    return CapacityLoss(by, tuple(found))


def domains_of(fork: Fork, by: str) -> dict[str, list[str]]:
    """Return the domains of *fork* with their nodes, in order."""
    nodes: list[Node] = fork.cluster.list(Node.KIND)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for node in nodes:
        value = node.name if by == NODE else node.metadata.labels.get(by)
        if value is not None:
            found[value].append(node.name)
    return dict(sorted(found.items())) if by != NODE else dict(found)


def _domains(fork: Fork, by: str, only: Iterable[str] | None) -> dict[str, list[str]]:
    found = domains_of(fork, by)
    if not found and by != NODE:
        raise InputError("by", f"no node has the label {by}", "write node, or a label that nodes have")
    if only is None:
        return found
    wanted = list(only)
    for each in wanted:
        if each not in found:
            raise InputError("only", f"no {by} is {each}", f"there are {', '.join(list(found)[:5])}")
    return {each: found[each] for each in wanted}


def _loss_of(fork: Fork, domain: str, nodes: Sequence[str]) -> DomainLoss:
    """Return what becomes of the pods of *nodes*; O(nodes + pods on them), beside scheduling."""
    with fork.trial():
        unowned: list[Pod] = []
        waiting: list[Pod] = []
        for name in nodes:
            unowned += [pod for pod in fork.pods_on(name) if _is_lost(pod)]
            waiting += fork.remove_node(name)
        placements = {}
        while waiting:
            with deleted_in(fork) as victims:
                for placement in fork.schedule(waiting):
                    placements[placement.pod.key] = placement
            unowned += [pod for pod in victims if _is_lost(pod)]
            for pod in victims:
                placements.pop(pod.key, None)
            waiting = [made_again(pod) for pod in victims if is_made_again(pod)]
    lost = [LostPod(pod.key, UNOWNED) for pod in unowned]
    lost += [LostPod(key, each.message) for key, each in placements.items() if each.node_name is None]
    moved = {key: each.node_name for key, each in placements.items() if each.node_name is not None}
    return DomainLoss(domain, tuple(nodes), tuple(lost), moved)


def _is_lost(pod: Pod) -> bool:
    return not is_made_again(pod) and not is_of_its_node(pod)
