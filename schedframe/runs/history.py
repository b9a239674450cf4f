"""Events of a run as columns, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np

from ..errors import InvariantError
from ..traces import Trace
from ..traces.columns import NONE, Array, ColumnTable, Ids, Ints, Names, read_only
from .spans import EVICTIONS, RunEvent, Spans, spans

STATES: Final = ("waiting", "running", "ended", "rejected")
WAITING, RUNNING, ENDED, REJECTED = range(4)
"""Codes of the states of a pod."""


class History:
    """Events of a run of ``trace`` until ``end``. Spans and the table of pods are computed when they are
    first read."""

    def __init__(self, trace: Trace, events: ColumnTable, end: int, waited_for: Mapping[int, str]) -> None:
        self.trace: Final = trace
        self.events: Final = events
        self.end: Final = end
        self._waited_for: Final = waited_for

    @cached_property
    def stints(self) -> Spans:
        """Times of pods on nodes."""
        return spans(self.events, "pod", (RunEvent.STARTED,), (RunEvent.ENDED, *EVICTIONS), self.end)

    @cached_property
    def waits(self) -> Spans:
        """Times of pods without a node."""
        opening = (RunEvent.SUBMITTED, *EVICTIONS)
        return spans(self.events, "pod", opening, (RunEvent.STARTED, RunEvent.REJECTED), self.end)

    @cached_property
    def ups(self) -> Spans:
        """Times of nodes that take pods."""
        opening = (RunEvent.NODE_JOINED, RunEvent.NODE_REPAIRED)
        return spans(self.events, "node", opening, (RunEvent.NODE_DRAINED, RunEvent.NODE_FAILED), self.end)

    @cached_property
    def stint_nodes(self) -> Ids:
        """The node of each stint."""
        found: Ids = self.events["node"][self.stints.opened]
        return found

    @cached_property
    def stint_templates(self) -> Ids:
        """The template of the pod of each stint."""
        found: Ids = self.trace.pods["template"][self.stints.entity]
        return found

    @cached_property
    def pods(self) -> ColumnTable:
        """A row for each pod that arrived.

        ``pod`` is its number in the trace; ``submit``, ``start`` (the first one) and ``end`` are times, −1 if
        there is none; ``wait`` is the time until the first start, or until the end of the run; ``run`` is its
        work by the trace; ``node`` the last one; ``state`` what it was at the end of the run; ``lost`` work
        that evictions cost, in µs; ``waited_for`` the plugin that rejected it last.
        """
        submitted = self.events["event"] == RunEvent.SUBMITTED
        pod = np.sort(self.events["pod"][submitted])
        count = len(self.trace)
        submit = np.full(count, NONE, np.int64)
        submit[self.events["pod"][submitted]] = self.events["time"][submitted]
        columns = {**self._by_pod(count), "submit": submit}
        state = columns["state"][pod]
        start = columns["start"][pod]
        waited = np.where(start == NONE, self.end, start) - submit[pod]
        names = Names()
        waited_for = np.full(count, NONE, np.int32)
        waited_for[list(self._waited_for)] = names.ids(self._waited_for.values())
        trace = self.trace.pods
        table: dict[str, Array] = {"pod": pod}
        if "name" in trace.columns:
            table["name"] = trace["name"][pod]
        table |= {name: trace[name][pod] for name in ("owner", "group", "template")}
        table |= {"submit": submit[pod], "start": start, "end": columns["end"][pod]}
        table |= {"wait": np.where(state == REJECTED, 0, waited), "run": trace["run"][pod]}
        table |= {name: columns[name][pod] for name in ("node", "state", "starts", "evictions", "lost")}
        table["waited_for"] = waited_for[pod]
        decoded = {
            "owner": trace.names.get("owner", ()),
            "node": self.events.names["node"],
            "state": STATES,
            "waited_for": names.all(),
        }
        return ColumnTable(read_only(table), decoded, frozenset({"group", "start", "end", "run"}))

    def _by_pod(self, count: int) -> dict[str, Array]:
        """Return columns by number of the pod in the trace, from the stints."""
        stints, events = self.stints, self.events
        first = np.unique(stints.entity, return_index=True)[1]
        start, node, end = (np.full(count, NONE, kind) for kind in (np.int64, np.int32, np.int64))
        start[stints.entity[first]] = stints.start[first]
        node[stints.entity] = self.stint_nodes  # the last stint is written last
        state = np.full(count, WAITING, np.int8)
        how = (
            np.where(stints.closed >= 0, events["event"][stints.closed], NONE)
            if len(events)
            else stints.closed
        )
        state[stints.entity[how == NONE]] = RUNNING
        is_ended = how == RunEvent.ENDED
        state[stints.entity[is_ended]] = ENDED
        end[stints.entity[is_ended]] = stints.stop[is_ended]
        state[events["pod"][events["event"] == RunEvent.REJECTED]] = REJECTED
        evicted = np.isin(how, EVICTIONS)
        lost = np.zeros(count, np.int64)
        np.add.at(lost, stints.entity[evicted], self.lost_work[evicted])
        return {
            "start": start,
            "end": end,
            "node": node,
            "state": state,
            "starts": np.bincount(stints.entity, minlength=count),
            "evictions": np.bincount(stints.entity[evicted], minlength=count),
            "lost": lost,
        }

    @cached_property
    def lost_work(self) -> Ints:
        """Work that each stint lost by its eviction; 0 if it was not evicted."""
        stints, events = self.stints, self.events
        if not len(events):
            return np.zeros(0, np.int64)
        evicted = (stints.closed >= 0) & np.isin(events["event"][stints.closed], EVICTIONS)
        lost: Ints = np.where(evicted, stints.stop - stints.start - events["kept"][stints.closed], 0)
        return lost

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the events are no run: such as a pod that ends and does not
        run."""
        kind, pod = self.events["event"], self.events["pod"]
        rows = np.flatnonzero(pod >= 0)
        rows = rows[np.argsort(pod[rows], kind="stable")]
        before = np.roll(kind[rows], 1)
        before[np.flatnonzero(np.diff(pod[rows], prepend=NONE))] = NONE
        for row, previous in zip(rows.tolist(), before.tolist(), strict=True):
            if previous not in _BEFORE.get(int(kind[row]), ()):
                what = RunEvent(int(kind[row])).name.lower()
                raise InvariantError(f"event {row}: pod {pod[row]} was {what}, which cannot follow")


_WITHOUT_NODE: Final = (RunEvent.SUBMITTED, *EVICTIONS)
_BEFORE: Final[dict[int, tuple[Any, ...]]] = {
    RunEvent.SUBMITTED: (NONE,),
    RunEvent.STARTED: _WITHOUT_NODE,
    RunEvent.REJECTED: _WITHOUT_NODE,
    **dict.fromkeys((RunEvent.ENDED, *EVICTIONS), (RunEvent.STARTED,)),
}
"""Event of a pod → events that can stand before it."""
