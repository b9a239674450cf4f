"""Calendar: when pods end. What happens in a fork whose time passes follows from it alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from .._base.undo import UndoDict, UndoLog
from ..api import Pod
from ..cluster import WatchEvent


class Calendar:
    """The ends of pods that run, and how long others run once they have a node. O(log n) for each pod.

    A pod with ``spec.activeDeadlineSeconds`` runs that long, unless ``durations`` says otherwise.
    """

    def __init__(self, undo: UndoLog) -> None:
        self.ends: UndoDict[str, float] = _Ends(undo, self)
        """Uid → end, in seconds of the clock."""
        self.durations: UndoDict[str, float] = UndoDict(undo)
        """Uid → seconds that the pod runs from its placement on."""
        self._heap: list[tuple[float, str]] = []
        """An entry whose pod has another end by now is skipped."""
        self.is_complete = True
        """Whether each end has its entry; not after a trial took changes back."""

    def begin(self, pods: Iterable[Pod]) -> None:
        """Take in the pods that have a node already; those with a deadline and a start have an end."""
        for pod in pods:
            seconds, start = pod.spec.active_deadline_seconds, pod.status.start_time
            if seconds is not None and start is not None:
                dict.__setitem__(self.ends, pod.uid, start + seconds)  # no change that a trial takes back
        self.is_complete = False

    def note(self, event: WatchEvent, now: float) -> None:
        """Take in a change of a pod: it got a node, or is gone."""
        old, new = event.old, event.new
        if new is None:
            self.ends.pop(old.uid, None)
            self.durations.pop(old.uid, None)
        elif new.node_name and (old is None or not old.node_name):
            seconds = self._duration_of(new)
            if seconds is not None and new.uid not in self.ends:
                self.ends[new.uid] = now + seconds

    def _duration_of(self, pod: Pod) -> float | None:
        seconds = self.durations.get(pod.uid)
        return pod.spec.active_deadline_seconds if seconds is None else seconds

    def next_end(self) -> float | None:
        """Return the first end, ``None`` if no pod has one."""
        if not self.is_complete:
            self._heap = [(end, uid) for uid, end in self.ends.items()]
            heapify(self._heap)
            self.is_complete = True
        heap, ends = self._heap, self.ends
        while heap and ends.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: float) -> Iterator[str]:
        """Take out, one by one, the uids of the pods whose end is not after *now*."""
        while (end := self.next_end()) is not None and end <= now:
            uid = heappop(self._heap)[1]
            del self.ends[uid]
            yield uid

    def put(self, uid: str, end: float) -> None:
        """Add an entry for an end that is new or another one."""
        heappush(self._heap, (end, uid))


class _Ends(UndoDict[str, float]):
    """The ends of a calendar, which learns of each change."""

    __slots__ = ("_calendar",)

    def __init__(self, undo: UndoLog, calendar: Calendar) -> None:
        UndoDict.__init__(self, undo, undone=self._was_undone)
        self._calendar = calendar

    def __setitem__(self, key: str, value: float) -> None:
        UndoDict.__setitem__(self, key, value)
        self._calendar.put(key, value)

    def _was_undone(self, key: str) -> None:
        self._calendar.is_complete = False
