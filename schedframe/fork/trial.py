"""One trial of a fork: the mark, and the revert that leaves nothing behind.

The undo log of the core takes back rows, pods, objects, nominations, members, and what the cluster of the
fork has. What is left are a few small parts that are copied when the trial begins: the generator, the place
where sampling begins, attempts that wait, timers, and what the controllers know.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Self

import attrs
from sortedcontainers import SortedDict, SortedList

from .._base.value import record
from ..cycle.binding.bind import unreserve
from ..framework import WaitingPod
from .dry_run import dry_run

if TYPE_CHECKING:
    from .offline import OfflineCluster

_CONTAINERS: Final = (dict, list, set, deque, Counter, SortedList, SortedDict)
_PARTS: Final = ("waiting", "paused", "delayed_nominations", "timers", "writes")
"""Parts of a core with attempts and calls that are not over."""
_COLLECTIONS: Final = ("binding", "written", "expected", "under_way")


class Trial:
    """A trial of a fork, as a context manager: what happens inside is undone at the end, unless kept."""

    def __init__(self, fork: OfflineCluster) -> None:
        self._fork = fork
        self._is_open = False

    def __enter__(self) -> Self:
        if self._fork.scheduler.core.inbox:
            self._fork.scheduler.sync()
        undo = self._fork.scheduler.core.undo
        self._depth, self._start = undo.begin(), len(undo.entries)
        self._saved = _Saved.of(self._fork)
        self._is_open = True
        return self

    def keep(self) -> None:
        """End the trial and let everything be as it is now; a trial around this one takes it back with it."""
        if self._is_open:
            self._fork.scheduler.sync()
            self._fork.scheduler.core.undo.keep(self._depth)
            self._is_open = False

    def revert(self) -> None:
        """End the trial and set everything back, what trials within it have kept included."""
        if self._is_open:
            self._is_open = False
            core = self._fork.scheduler.core
            core.inbox.drain()
            if any(entry[0] is unreserve for entry in core.undo.entries[self._start :]):
                with dry_run(core):  # plugins that take back a reservation write nothing
                    core.undo.revert(self._depth)
            else:
                core.undo.revert(self._depth)
            self._saved.set_back(self._fork)

    def __exit__(self, *_: object) -> None:
        self.revert()


@record(frozen=True, eq=False)
class _Saved:
    """Copies of the parts that the undo log knows nothing of."""

    now: float
    rng: Any
    next_start: int
    collections: Mapping[str, Any]
    places: tuple[tuple[Any, str], ...]
    """Objects and their fields with containers."""
    containers: tuple[tuple[Any, str, Any], ...]
    """Copies of those that are not empty."""
    preempted: tuple[tuple[WaitingPod, bool], ...]
    """The pods that wait in permit, and whether another one has rejected them already."""
    attempts: tuple[tuple[Any, Mapping[str, Any]], ...]
    """Attempts under way with their attributes."""
    own: tuple[Any, ...]

    @classmethod
    def of(cls, fork: OfflineCluster) -> _Saved:
        core = fork.scheduler.core
        sampling, waiting = core.search.sampling, [*core.waiting] if core.waiting else ()
        parts = [*[getattr(core, name) for name in _PARTS], *fork.controllers(), *waiting]
        places = [(part, name) for part in parts for name in fields_with_containers(part)]
        return cls(
            fork.clock.now,
            core.rng.saved(),  # type: ignore[attr-defined]  # that of a fork
            0 if sampling is None else sampling.next_start,
            {name: found.copy() for name in _COLLECTIONS if (found := getattr(core, name))},
            tuple(places),
            tuple([(part, name, _copied(found)) for part, name in places if (found := getattr(part, name))]),
            tuple([(each, each.preempted) for each in waiting]),
            tuple([(each, dict(vars(each))) for each in core.binding.values()]),
            fork.own_state(),
        )

    def set_back(self, fork: OfflineCluster) -> None:
        """Let *fork* be as it was."""
        core = fork.scheduler.core
        fork.clock.now = core.now = self.now
        core.rng.set_back(self.rng)  # type: ignore[attr-defined]  # that of a fork
        if core.search.sampling is not None:
            core.search.sampling.next_start = self.next_start
        for name in _COLLECTIONS:
            present, before = getattr(core, name), self.collections.get(name)
            if present or before:
                present.clear()
                present.update(before or ())
        for part, name in self.places:
            if present := getattr(part, name):
                present.clear()
        for part, name, before in self.containers:
            setattr(part, name, before)
        for waiting, preempted in self.preempted:
            waiting.preempted = preempted
        for attempt, values in self.attempts:
            vars(attempt).clear()
            vars(attempt).update(values)
        fork.set_own_state(self.own)


_FIELDS: Final[dict[type, tuple[str, ...]]] = {}
"""Class → the fields that hold containers."""


def fields_with_containers(part: Any) -> tuple[str, ...]:
    """Return the fields of *part* that hold containers."""
    found = _FIELDS.get(type(part))
    if found is None:
        names = [each.name for each in attrs.fields(type(part))]
        found = tuple([name for name in names if isinstance(getattr(part, name), _CONTAINERS)])
        _FIELDS[type(part)] = found
    return found


def _copied(value: Any) -> Any:
    """Return a copy of a container, and of the containers in it."""
    if type(value) is not dict:
        return value.copy()
    return {key: each.copy() if type(each) in (dict, list, set) else each for key, each in value.items()}
