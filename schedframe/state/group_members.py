"""Members of pod groups: which pods name a group, and which of them have a node.

Kept from the pods alone, whether the PodGroup object exists or not. A pod counts from the event that shows it
as pending for one of the scheduler's profiles, or on a node, until it is gone or has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from attrs import field

from .._base.brief import brief_of
from .._base.undo import UndoLog
from .._base.value import record
from ..api import Node, Pod, group_of
from ..errors import InvariantError
from .cache import Cache, PodState

_NONE: Final[Mapping[str, Pod]] = MappingProxyType({})


@record(eq=False)
class _Group:
    """The members of one group by uid."""

    unscheduled: dict[str, Pod] = field(factory=dict)
    scheduled: dict[str, Pod] = field(factory=dict)
    """Those that run, are assumed, or are placed by the trial under way."""


@record(eq=False)
class GroupMembers:
    """The members of all groups. Each method is O(1) unless it says otherwise."""

    _groups: dict[str, _Group] = field(factory=dict)
    undo: UndoLog = field(factory=UndoLog)

    # ---- looking -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, key: object) -> bool:
        return key in self._groups

    def all_count(self, key: str) -> int:
        """Return the number of members, with and without a node."""
        group = self._groups.get(key)
        return 0 if group is None else len(group.unscheduled) + len(group.scheduled)

    def scheduled_count(self, key: str) -> int:
        """Return the number of members that have a node, assumed ones included."""
        group = self._groups.get(key)
        return 0 if group is None else len(group.scheduled)

    def unscheduled(self, key: str) -> Collection[Pod]:
        """Return the members without a node, in the order of their arrival: a live view."""
        group = self._groups.get(key)
        return _NONE.values() if group is None else group.unscheduled.values()

    def scheduled(self, key: str) -> Collection[Pod]:
        """Return the members that have a node, each with its node: a live view."""
        group = self._groups.get(key)
        return _NONE.values() if group is None else group.scheduled.values()

    # ---- changes -----------------------------------------------------------------------------------------

    def set_unscheduled(self, key: str, pod: Pod) -> None:
        """Count a pod without a node, or its later version. One that counts as scheduled stays so."""
        if self.undo.marks:
            self._save(key)
        group = self._groups.setdefault(key, _Group())
        if pod.uid not in group.scheduled:
            group.unscheduled[pod.uid] = pod

    def set_scheduled(self, key: str, pod: Pod) -> None:
        """Count a pod that has a node."""
        if self.undo.marks:
            self._save(key)
        group = self._groups.setdefault(key, _Group())
        group.unscheduled.pop(pod.uid, None)
        group.scheduled[pod.uid] = pod

    def unset_scheduled(self, key: str, pod: Pod, pending: Pod | None) -> None:
        """Take the node from a member; *pending*: its version without a node, ``None`` if it is gone."""
        group = self._groups.get(key)
        if group is None:
            return
        if self.undo.marks:
            self._save(key)
        group.scheduled.pop(pod.uid, None)
        if pending is not None:
            group.unscheduled[pod.uid] = pending
        self._drop_if_empty(key, group)

    def remove(self, key: str, uid: str) -> None:
        """Remove a pod without a node that is gone."""
        group = self._groups.get(key)
        if group is not None:
            if self.undo.marks:
                self._save(key)
            group.unscheduled.pop(uid, None)
            self._drop_if_empty(key, group)

    def copied(self) -> GroupMembers:
        """Return an independent copy with a log of its own; O(members)."""
        groups = {
            key: _Group(dict(each.unscheduled), dict(each.scheduled)) for key, each in self._groups.items()
        }
        return GroupMembers(groups)

    def _save(self, key: str) -> None:
        """Let a trial take back what follows of one group; O(members), once for each trial."""
        owner = (id(self), key)
        if not self.undo.is_saved(owner):
            group = self._groups.get(key)
            copy = None if group is None else _Group(dict(group.unscheduled), dict(group.scheduled))
            self.undo.save(owner, (self._set_back, key, copy))

    def _set_back(self, key: str, group: _Group | None) -> None:
        if group is None:
            self._groups.pop(key, None)
        else:
            self._groups[key] = group

    def _drop_if_empty(self, key: str, group: _Group) -> None:
        if not group.unscheduled and not group.scheduled:
            del self._groups[key]

    def __repr__(self) -> str:
        return brief_of(self, groups=len(self._groups))

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if a member counts twice or under another group. O(members)."""
        for key, group in self._groups.items():
            if group.unscheduled.keys() & group.scheduled.keys():
                raise InvariantError(f"a member of {key} counts with and without a node")
            for members in (group.unscheduled, group.scheduled):
                if any(uid != pod.uid or group_of(pod) != key for uid, pod in members.items()):
                    raise InvariantError(f"a member of {key} is not its own")
            if not group.unscheduled and not group.scheduled:
                raise InvariantError(f"group {key} is kept without members")


@record(eq=False, repr=False)
class GroupCache(Cache):
    """A cache that also keeps the members of groups, and counts the changes of nodes and their pods.

    Trials on the table are no changes here.
    """

    members: GroupMembers = field(factory=GroupMembers)
    pending: Mapping[str, Pod] = field(factory=dict)
    """Pods without a node by key, to which a member returns whose assumption is taken back."""
    changes: int = 0

    def __attrs_post_init__(self) -> None:
        Cache.__attrs_post_init__(self)
        self.members.undo = self.undo

    def _undone(self) -> None:
        self.changes += 1

    def assume_pod(self, pod: Pod) -> None:
        """See :class:`Cache`."""
        Cache.assume_pod(self, pod)
        self.changes += 1
        if key := group_of(pod):
            self.members.set_scheduled(key, pod)

    def add_pod(self, pod: Pod) -> Pod | None:
        """See :class:`Cache`."""
        version = self.table.row_log.version
        before = Cache.add_pod(self, pod)
        # A version that counts the same, such as the confirmation of an assumption, changes no row.
        self.changes += self.table.row_log.version != version
        if key := group_of(pod):
            self.members.set_scheduled(key, pod)
        return before

    update_pod = add_pod

    def _remove(self, state: PodState) -> None:
        Cache._remove(self, state)
        self.changes += 1
        if key := group_of(state.pod):
            pod = self.pending.get(state.pod.key)
            waits = pod is not None and pod.uid == state.pod.uid
            self.members.unset_scheduled(key, state.pod, pod if waits else None)

    def set_node(self, node: Node) -> None:
        """See :class:`Cache`."""
        Cache.set_node(self, node)
        self._node_changed()

    def remove_node(self, name: str) -> bool:
        """See :class:`Cache`."""
        self._node_changed()
        return Cache.remove_node(self, name)

    def _node_changed(self) -> None:
        self.changes += 1
        if self.undo.marks:
            self.undo.entries.append((self._undone,))

    def check_invariants(self) -> None:
        """See :class:`Cache`."""
        Cache.check_invariants(self)
        self.members.check_invariants()
