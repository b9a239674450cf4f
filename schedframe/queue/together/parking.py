"""Groups that wait by class: of equal groups whose attempt failed only the first one is tried again.

A group whose attempt would end as that of an equal one just did is *parked*: its members wait in the
unschedulable pool, and events skip them. An event is looked at once for a class. If it may help, the first
group of the class becomes active. The others follow one by one as long as those before them are placed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from typing import Any, Protocol

from attrs import field

from ..._base.value import record
from ...api import Pod
from ...errors import InvariantError
from ..events import ClusterEvent
from ..hints import HintTable
from ..queued_pod import NO_PLUGINS, QueuedPodInfo


@record(eq=False)
class GroupClass:
    """Groups for which an attempt has one result. Those that are parked, in the order of the queue."""

    profile: str
    rejectors: frozenset[str] = NO_PLUGINS
    """Plugins that rejected members of the last group that was tried."""
    rejected: tuple[Pod, ...] = ()
    """Such members, one for each set of equal ones: for hints."""
    since: float = 0.0
    """When the last attempt failed, or would have."""
    moment: int = 0
    """Number of the moment of that; see :mod:`.moments`."""
    awake: str = ""
    """Key of the group that is to be tried for all of them; empty: an event has to come."""
    parked: list[tuple[tuple[float, int], str]] = field(factory=list)
    """(order, key)."""


class GroupOutcomes(Protocol):
    """Classes of groups that a change may help."""

    def may_help(self, group_class: GroupClass) -> bool:
        """Return whether an attempt for a group of that class may end otherwise than the last one."""
        ...


@record(eq=False)
class Parking:
    """The parked groups, and which of them are to be tried again. The queue moves their members."""

    outcomes: GroupOutcomes
    max_stay: float | None
    """Seconds after which the first group of a class is tried again without any event; ``None``: never."""
    groups: dict[str, tuple[GroupClass, list[QueuedPodInfo]]] = field(factory=dict, init=False)
    """Key of a parked group → its class and its members; read-only."""
    _places: dict[str, list[int]] = field(factory=dict, init=False)
    """Key of a parked group → the places of its members, which a failure does not change."""
    awake: dict[str, GroupClass] = field(factory=dict, init=False)
    """Key of a group that is to be tried for a class → that class; read-only."""
    woken: dict[GroupClass, bool] = field(factory=dict, init=False)
    """Classes that an event may help → whether they are tried whatever changed; read-only."""
    _classes: dict[GroupClass, None] = field(factory=dict, init=False)
    """Those with a parked group."""

    def add(self, group_class: GroupClass, key: str, infos: list[QueuedPodInfo]) -> None:
        """Park a group. O(log n) comparisons."""
        self.groups[key] = group_class, infos
        self._places[key] = [info.place for info in infos]
        insort(group_class.parked, (_order(infos), key))
        self._classes[group_class] = None

    def remove(self, key: str) -> list[QueuedPodInfo]:
        """Return the members of a group that is no longer parked."""
        group_class, infos = self.groups.pop(key)
        for info, place in zip(infos, self._places.pop(key), strict=True):
            info.place = place
        group_class.parked.remove((_order(infos), key))
        if not group_class.parked:
            del self._classes[group_class]
            self.woken.pop(group_class, None)
        return infos

    def wake(self, hints: HintTable, event: ClusterEvent, old: Any, new: Any) -> bool:
        """Note which classes *event* may help; return whether there are any. O(classes), and their hints."""
        found = False
        for group_class in self._classes:
            plan = hints.plan_for(event, group_class.profile, group_class.rejectors, NO_PLUGINS)
            if plan and any(hints.run(plan, pod, old, new) for pod in group_class.rejected):
                self.woken.setdefault(group_class, False)
                found = True
        return found

    def next_keys(self, now: float, moment: int) -> list[str]:
        """Return the groups that are to be tried now: of each class that was woken the first one, if any."""
        found = []
        woken, self.woken = self.woken, {}
        for group_class, always in woken.items():
            if group_class.awake:
                continue  # the one that is active is tried first
            if always or self.outcomes.may_help(group_class):
                key = group_class.awake = group_class.parked[0][1]
                self.awake[key] = group_class
                found.append(key)
            else:
                group_class.since, group_class.moment = now, moment
        return found

    def ended(self, key: str) -> None:
        """Let the next group of a class be tried if that one was tried for all and is not parked again."""
        group_class = self.awake.pop(key, None)
        if group_class is not None:
            group_class.awake = ""
            if group_class.parked and key not in self.groups:
                self.woken[group_class] = True

    def deadline(self) -> float | None:
        """Return when a class has waited too long, ``None``: never. O(classes)."""
        if self.max_stay is None or not self._classes:
            return None
        return min(group_class.since for group_class in self._classes) + self.max_stay

    def flush(self, now: float) -> bool:
        """Wake the classes that have waited too long; return whether there are any. O(classes)."""
        stay = self.max_stay
        overdue = [each for each in self._classes if stay is not None and each.since + stay <= now]
        for group_class in overdue:
            group_class.since = now
            self.woken[group_class] = True
        return bool(overdue)

    def classes(self) -> Iterable[GroupClass]:
        """Return the classes that have a parked group."""
        return self._classes.keys()

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` unless groups and classes agree. O(groups)."""
        filed = {key: each for each in self._classes for _, key in each.parked}
        if filed.keys() != self.groups.keys():
            raise InvariantError("the parked groups are not those of their classes")
        if self._places.keys() != self.groups.keys():
            raise InvariantError("the places of parked groups are not filed")
        for key, (group_class, infos) in self.groups.items():
            if filed[key] is not group_class or not infos or group_class.awake == key:
                raise InvariantError(f"group {key} is parked under another class, or active")
        if any(each.parked != sorted(each.parked) or not each.parked for each in self._classes):
            raise InvariantError("parked groups are out of order")


def _order(infos: Iterable[QueuedPodInfo]) -> tuple[float, int]:
    """Return the place of a group among those of its class: that of its foremost member."""
    return min((info.initial_attempt or 0.0, info.place) for info in infos)
