"""Extenders: filter, prioritize, bind and preempt outside of the scheduler, in the words of kube-scheduler.

An extender sees what the plugins left: the feasible nodes of a pod, all at once. When each call is made, and
what its answer does: docs/explanation/extenders.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol, TypeVar

import numpy as np
from attrs import field

from .._base.brief import brief_of
from .._base.checked import checked as checked_arguments
from .._base.plugin_faults import message_of
from .._base.value import record, value
from .._base.wording import described, with_article
from ..api import Node, Pod
from ..errors import SchedframeError
from ..state import Rows
from .normalization import MAX_SCORE

logger = logging.getLogger("schedframe")

T = TypeVar("T")

MAX_EXTENDER_PRIORITY: Final = 10
"""Highest score that an extender should give."""

SCORE_SCALE: Final = MAX_SCORE // MAX_EXTENDER_PRIORITY
"""Factor from scores of extenders to scores of plugins."""

EXTENDER: Final = "Extender"
"""Stands for extenders among the plugins that reject a pod: any event may make it schedulable."""


class ExtenderError(SchedframeError):
    """An extender has no usable answer. The message is shown in the condition of the pod."""


class ExtenderVerb(Enum):
    """The calls that an extender may implement."""

    FILTER = "filter"
    """Reject some of the feasible nodes."""
    PRIORITIZE = "prioritize"
    """Score the feasible nodes."""
    BIND = "bind"
    """Bind in place of the bind plugins."""
    PREEMPT = "preempt"
    """Change which pods are removed to make room."""


class OfferedNodes:
    """The nodes offered to an extender, in the order in which they were found; one may be there twice.

    They are rows of the node table, or nodes as an extender before sent them back.
    """

    __slots__ = ("_names", "_nodes", "_number_of", "likely", "replaced", "rows")

    def __init__(
        self, rows: Rows | None, nodes: Sequence[Node] | None = None, names: list[str] | None = None
    ) -> None:
        self.rows = rows
        """``None`` for nodes that an extender sent back."""
        self.replaced = rows is None
        """Whether these are nodes as an extender sent them back: without pods and images."""
        self._nodes = nodes
        self._names = names
        self._number_of: dict[str, int] | None = None
        self.likely: OfferedNodes | None = None
        """What the last answer kept of these nodes; ``None``: all, or there was no answer."""

    @property
    def names(self) -> list[str]:
        """Node names. Not to be changed; O(nodes) at first use."""
        if self._names is None:
            # Nodes that were read before an extender was asked keep their names when one of them goes.
            if self.rows is None or self._nodes is not None:
                self._names = [node.name for node in self._nodes or ()]
            else:
                self._names = self.rows.names()
        return self._names

    @property
    def nodes(self) -> Sequence[Node]:
        """Node objects; O(nodes) at first use."""
        if self._nodes is None:
            assert self.rows is not None
            node_at = self.rows.table.node_at
            nodes = map(node_at, self.rows.positions.tolist())
            self._nodes = [node for node in nodes if node is not None]
        return self._nodes

    def __len__(self) -> int:
        return len(self._nodes or ()) if self.rows is None else len(self.rows)

    def __repr__(self) -> str:
        return brief_of(self, len=len(self), replaced=self.replaced)

    def kept(self, extender: str, answer: ExtenderFilterResult) -> OfferedNodes:
        """Return the nodes that *answer* keeps, in its order, duplicates included.

        Raises :class:`ExtenderError` for a name that is not among these; *extender* is named in its message.
        """
        if answer.nodes is not None:
            return OfferedNodes(None, answer.nodes)
        if answer.names is None or answer.names is self.names or answer.names == self.names:
            self.likely = None
            return self
        if self.likely is None or answer.names != self.likely.names:
            self.likely = self._chosen(extender, answer.names)
        return self.likely

    def _chosen(self, extender: str, kept: Sequence[str]) -> OfferedNodes:
        """Return the nodes with the names *kept*. Raises :class:`ExtenderError`."""
        if self._number_of is None:
            self._number_of = dict(zip(self.names, range(len(self.names)), strict=True))
        try:
            positions = list(map(self._number_of.__getitem__, kept))
        except KeyError as error:
            raise ExtenderError(
                f'extender "{extender}" claims a filtered node "{error.args[0]}" which is not found in the '
                "input node list"
            ) from None
        names = list(kept)
        if self.rows is None:
            nodes = self.nodes
            return OfferedNodes(None, [nodes[position] for position in positions], names)
        return OfferedNodes(self.rows.select(np.array(positions, np.intp)), None, names)


@value
class ExtenderFilterResult:
    """Answer of an extender about the nodes it was offered."""

    names: Sequence[str] | None = None
    """Names of the nodes that it keeps, in any order; ``None`` and no ``nodes``: all."""
    nodes: Sequence[Node] | None = None
    """In place of ``names``: nodes that are used as they are here, also if they were not offered."""
    failed: Mapping[str, str] = field(factory=dict)
    """Node → why the pod cannot run there now; removing pods might help."""
    failed_and_unresolvable: Mapping[str, str] = field(factory=dict)
    """Node → why the pod cannot run there, whichever pods are removed. Has precedence over ``failed``."""


class HostPriority(NamedTuple):
    """The score of a node, from 0 to :data:`MAX_EXTENDER_PRIORITY`; others are taken as they are."""

    host: str
    score: int


@value
class Victims:
    """The pods that would be removed from a node, most important first."""

    pods: tuple[Pod, ...]
    pdb_violations: int = 0
    """How many of these evictions violate a disruption budget."""


@value
class VictimUids:
    """The answer to :class:`Victims`: which pods of a node are to be removed, by uid."""

    uids: tuple[str, ...]
    pdb_violations: int = 0


class Extender(Protocol):
    """Takes part in decisions from outside of the profile. Implement the calls of ``verbs``.

    Extenders are called one after another, in the order of the configuration, ignorable ones last. Each call
    raises :class:`ExtenderError` if there is no answer; for filter, bind and preempt that ends the attempt
    unless the extender is ignorable, for prioritize it only loses the scores.
    """

    @property
    def name(self) -> str:
        """The name in messages and among scores; for HTTP extenders the URL prefix."""
        ...

    @property
    def verbs(self) -> frozenset[ExtenderVerb]:
        """The calls to make."""
        ...

    @property
    def is_ignorable(self) -> bool:
        """Return whether scheduling goes on without an answer."""
        ...

    @property
    def weight(self) -> int:
        """Factor of its scores, besides :data:`SCORE_SCALE`."""
        ...

    def is_interested(self, pod: Pod) -> bool:
        """Return whether to call it for *pod*; depends on its spec and metadata alone."""
        ...

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        """Return which of *nodes* remain. Core only."""
        ...

    def prioritize(self, pod: Pod, nodes: OfferedNodes) -> Iterable[HostPriority]:
        """Return scores of nodes, of which several for a node add up. Core only."""
        ...

    def bind(self, pod: Pod, node_name: str) -> None:
        """Bind *pod* in place of the bind plugins. Called off the core."""
        ...

    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, VictimUids]:
        """Return the nodes on which preemption may take place and the pods to remove there. Core only."""
        ...

    def close(self) -> None:
        """Release connections; no call follows."""
        ...


class RemoteExtender(Extender, Protocol):
    """An :class:`Extender` whose requests can be sent before their answers are awaited."""

    def send_filter(self, pod: Pod, nodes: OfferedNodes) -> Callable[[], ExtenderFilterResult]:
        """Send the request; return the function that waits for the answer, as :meth:`Extender.filter`."""
        ...

    def send_prioritize(self, pod: Pod, nodes: OfferedNodes) -> Callable[[], Iterable[HostPriority]]:
        """Send the request; return the function that waits for the answer, as :meth:`Extender.prioritize`."""
        ...


@checked_arguments
@record(eq=False)
class BaseExtender:
    """An extender without any calls, to derive in-process extenders from.

    A derived class sets ``verbs`` and overrides the methods of these.
    """

    name: str = "extender"
    verbs: frozenset[ExtenderVerb] = frozenset()
    is_ignorable: bool = False
    weight: int = 1

    def is_interested(self, pod: Pod) -> bool:
        """Return True: it is called for every pod."""
        return True

    def filter(self, pod: Pod, nodes: OfferedNodes) -> ExtenderFilterResult:
        """Keep all nodes."""
        return ExtenderFilterResult()

    def prioritize(self, pod: Pod, nodes: OfferedNodes) -> Iterable[HostPriority]:
        """Return no scores."""
        return ()

    def bind(self, pod: Pod, node_name: str) -> None:
        """Raise :class:`ExtenderError`."""
        raise ExtenderError(f'extender "{self.name}" does not bind pods')

    def process_preemption(self, pod: Pod, victims: Mapping[str, Victims]) -> Mapping[str, VictimUids]:
        """Return *victims* as they are."""
        return {
            name: VictimUids(tuple(pod.uid for pod in each.pods), each.pdb_violations)
            for name, each in victims.items()
        }

    def close(self) -> None:
        """Nothing to release."""


def in_call_order(extenders: Iterable[Extender]) -> tuple[Extender, ...]:
    """Return the extenders in the order of their calls: ignorable ones come last."""
    return tuple(sorted(extenders, key=lambda extender: extender.is_ignorable))


def is_interested(extender: Extender, pod: Pod) -> bool:
    """Return whether to call *extender* for *pod*.

    A fault of the extender is logged and counts as interest: without a call, a node that it would reject
    could be chosen.
    """
    try:
        return bool(extender.is_interested(pod))
    except Exception:
        logger.exception("extender %s failed at is_interested for pod %s", extender.name, pod.key)
        return True


def checked(extender: Extender, call: Callable[[], object], kind: type[T]) -> T:
    """Return the answer of a call; any exception, or another *kind*, is an :class:`ExtenderError`."""
    try:
        answer = call()
    except ExtenderError:
        raise
    except Exception as error:
        raise ExtenderError(f'extender "{extender.name}" failed: {message_of(error)}') from error
    if not isinstance(answer, kind):
        wanted = with_article(kind.__name__)
        raise ExtenderError(f'extender "{extender.name}" answered {described(answer)}; return {wanted}')
    return answer


def sums_of_scores(priorities: Iterable[HostPriority], factor: int) -> dict[str, int]:
    """Return the scores by node, times *factor*; several for one node add up.

    Raises ``TypeError`` or ``ValueError`` for anything but pairs of a name and a whole number.
    """
    sums: dict[str, int] = {}
    for host, score in priorities:
        sums[host] = sums.get(host, 0) + score * factor
    for kind, values in (str, sums), (int, sums.values()):
        if not set(map(type, values)) <= {kind}:
            raise TypeError("a score is a HostPriority of the name of a node and a whole number")
    return sums
