"""The writer of a run: what happens, one line an event, as the driver of simulated time reports it."""

from __future__ import annotations

from array import array
from typing import Final

import numpy as np
from attrs import evolve

from .._base.checked import checked
from ..errors import InvariantError
from ..traces import NodeTemplate, Trace
from ..traces.columns import Array, ColumnTable, read_only, texts
from .history import History
from .run import Run
from .spans import RunEvent

_NO_NODE: Final = -1


class RunRecorder:
    """Collects the events of a run of *trace*; :meth:`finish` returns the :class:`Run`.

    Times are microseconds and never go back. Each call appends to arrays: 17 bytes an event. Everything else
    is computed from these columns at the end.
    """

    @checked
    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._time, self._kind = array("q"), array("b")
        self._pod, self._node = array("i"), array("i")
        self._kept: dict[int, int] = {}
        self._waited_for: dict[int, str] = {}
        self._copies: list[int] = []
        self._nodes: list[tuple[str, NodeTemplate]] = []

    def submitted(self, time: int, pod: int) -> None:
        """The pod arrived."""
        self._add(time, RunEvent.SUBMITTED, pod, _NO_NODE)

    def started(self, time: int, pod: int, node: int) -> None:
        """The pod got a node and runs on it from now on."""
        self._add(time, RunEvent.STARTED, pod, node)

    def ended(self, time: int, pod: int) -> None:
        """The pod ran to its end."""
        self._add(time, RunEvent.ENDED, pod, _NO_NODE)

    def evicted(self, time: int, pod: int, why: RunEvent, *, kept: int = 0) -> None:
        """The pod lost its node and waits again; *kept* is the work, in µs, that it need not do again.

        *why* is ``PREEMPTED``, ``LOST`` or ``DRAINED``.
        """
        if kept:
            self._kept[len(self._time)] = kept
        self._add(time, why, pod, _NO_NODE)

    def rejected(self, time: int, pod: int) -> None:
        """The pod was dropped, since it fitted nowhere."""
        self._add(time, RunEvent.REJECTED, pod, _NO_NODE)

    def node(self, time: int, node: int, event: RunEvent) -> None:
        """The node joined, was drained, failed or was repaired."""
        self._add(time, event, _NO_NODE, node)

    def waited_for(self, pod: int, plugin: str) -> None:
        """The plugin rejected the pod in its last attempt so far."""
        self._waited_for[pod] = plugin

    def new_pod(self, like: int) -> int:
        """Return the number of a pod that the trace does not have, equal to another one, such as a
        daemon's."""
        self._copies.append(like)
        return len(self._trace) + len(self._copies) - 1

    def new_node(self, name: str, template: NodeTemplate) -> int:
        """Return the number of a node that the trace does not have, such as one of a group that grows."""
        self._nodes.append((name, template))
        return len(self._trace.nodes) + len(self._nodes) - 1

    def _add(self, time: int, kind: int, pod: int, node: int) -> None:
        self._time.append(time)
        self._kind.append(kind)
        self._pod.append(pod)
        self._node.append(node)

    def finish(self, end: int) -> Run:
        """Return the run, which ended at *end*. Raises :class:`InvariantError` if the times go back."""
        time = np.array(self._time, np.int64)
        if len(time) and ((np.diff(time) < 0).any() or time[-1] > end):
            raise InvariantError("the events of a run are not in the order of time")
        columns: dict[str, Array] = {
            "time": time,
            "event": np.array(self._kind, np.int8),
            "pod": np.array(self._pod, np.int32),
            "node": np.array(self._node, np.int32),
        }
        kept = np.zeros(len(time), np.int64)
        kept[list(self._kept)] = list(self._kept.values())
        columns["kept"] = kept
        trace = self._whole_trace()
        names = {
            "event": tuple(each.name.lower() for each in RunEvent),
            "node": tuple(map(str, trace.nodes.decoded("name"))),
        }
        events = ColumnTable(read_only(columns), names, frozenset({"pod"}))
        return Run(History(trace, events, end, dict(self._waited_for)))

    def _whole_trace(self) -> Trace:
        """Return the trace with the pods and nodes that came during the run."""
        trace = self._trace
        if self._copies:
            rows = np.array([*range(len(trace)), *self._copies])
            pods = trace.pods.taken(rows)
            if "name" in pods.columns:
                numbers = np.arange(len(rows)) - len(trace) + 1
                suffix = np.where(numbers > 0, np.char.add(b"-c", numbers.astype("S")), b"")
                pods = pods.with_columns(name=np.char.add(pods["name"], suffix))
            trace = evolve(trace, pods=pods)
        if self._nodes:
            first = len(trace.node_templates)
            name = [*map(str, trace.nodes.decoded("name")), *(name for name, _ in self._nodes)]
            added = np.arange(first, first + len(self._nodes))
            template = np.concatenate([trace.nodes["template"], added]).astype(np.int32)
            nodes = ColumnTable(read_only({"name": texts(name), "template": template}))
            templates = (*trace.node_templates, *(each for _, each in self._nodes))
            trace = evolve(trace, nodes=nodes, node_templates=templates)
        return trace
