"""Nominations: nodes where preemption makes room for a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from .._base.brief import brief_of
from .._base.undo import UndoLog
from ..api import Pod
from ..errors import InvariantError
from .queued_pod import identity

MAX_CHANGES = 4096
"""Changes that :meth:`Nominator.changed_since` can return at least; older ones may be dropped."""


class NominatingMode(StrEnum):
    """Node that a pod is nominated to."""

    OVERRIDE = "override"
    """The given node, none if it is empty."""
    NOOP = "noop"
    """The node of the pod's own ``status.nominatedNodeName``, if any."""


class Nominator:
    """Nominations by node, for filters, and by pod. Pods are identified by uid.

    *is_pending*: whether the cluster still has a pod, and without a node; others are not nominated. Most
    cycles only need to know whether ``nominations`` is empty: check that first. Methods are O(1) unless they
    say otherwise.
    """

    __slots__ = ("_by_node", "_changed", "_first_change", "_is_pending", "_views", "nominations", "undo")

    def __init__(self, is_pending: Callable[[Pod], bool] | None = None) -> None:
        self._is_pending = is_pending
        self._by_node: dict[str, dict[str, Pod]] = {}
        self.nominations: dict[str, str] = {}
        """Uid of the pod → node; read-only."""
        self._views: dict[str, tuple[Pod, ...]] = {}
        self._changed: list[str] = []
        self._first_change = 0
        self.undo = UndoLog()
        """The log of the trials that take changes back."""

    @property
    def version(self) -> int:
        """Number of changes so far, for :meth:`changed_since`."""
        return self._first_change + len(self._changed)

    def changed_since(self, version: int) -> list[str] | None:
        """Return the nodes whose nominations changed after *version*; ``None`` if the log is too short."""
        return None if version < self._first_change else self._changed[version - self._first_change :]

    def _log(self, node_name: str) -> None:
        self._changed.append(node_name)
        if len(self._changed) > 2 * MAX_CHANGES:
            del self._changed[:MAX_CHANGES]
            self._first_change += MAX_CHANGES

    def nominated_pods_for_node(self, node_name: str) -> tuple[Pod, ...]:
        """Return the pods nominated to that node, in order of nomination. After a change O(their number)."""
        view = self._views.get(node_name)
        if view is None:
            pods = self._by_node.get(node_name)
            if pods is None:
                return ()
            view = self._views[node_name] = tuple(pods.values())
        return view

    def add(
        self, pod: Pod, node_name: str | None = None, mode: NominatingMode = NominatingMode.OVERRIDE
    ) -> None:
        """Nominate *pod* according to *mode*, in place of its earlier nomination."""
        uid = identity(pod)
        if uid in self.nominations:
            self.delete_uid(uid)
        wanted = node_name if mode == NominatingMode.OVERRIDE else pod.status.nominated_node_name
        if not wanted or (self._is_pending is not None and not self._is_pending(pod)):
            return
        if self.undo.marks:
            self._save(wanted)
        self.nominations[uid] = wanted
        self._by_node.setdefault(wanted, {})[uid] = pod
        self._views.pop(wanted, None)
        self._log(wanted)

    def update(self, old: Pod, new: Pod) -> None:
        """Replace *old* by the later version *new*.

        A nomination that only this nominator has is kept as long as neither version has one in its status;
        otherwise that of *new* counts. Either way the pod goes to the end of the node's order.
        """
        kept = self.nominations.get(identity(old))
        self.delete(old)
        if kept is not None and not (old.status.nominated_node_name or new.status.nominated_node_name):
            self.add(new, kept)
        else:
            self.add(new, mode=NominatingMode.NOOP)

    def delete(self, pod: Pod) -> None:
        """Withdraw the nomination of *pod*, if there is one."""
        self.delete_uid(identity(pod))

    def delete_uid(self, uid: str) -> None:
        """Withdraw the nomination of the pod with that uid, if there is one."""
        node_name = self.nominations.get(uid)
        if node_name is None:
            return
        if self.undo.marks:
            self._save(node_name)
        del self.nominations[uid]
        pods = self._by_node[node_name]
        del pods[uid]
        if not pods:
            del self._by_node[node_name]
        self._views.pop(node_name, None)
        self._log(node_name)

    def _save(self, node_name: str) -> None:
        """Let a trial take back the change that follows; O(nominations to that node)."""
        before = dict(self._by_node.get(node_name, {}))
        self.undo.entries.append((self._set_back, node_name, before))

    def _set_back(self, node_name: str, pods: dict[str, Pod]) -> None:
        for uid in self._by_node.pop(node_name, {}):
            del self.nominations[uid]
        if pods:
            self._by_node[node_name] = pods
            self.nominations.update(dict.fromkeys(pods, node_name))
        self._views.pop(node_name, None)
        self._log(node_name)

    def node_of(self, pod: Pod) -> str | None:
        """Return the node that *pod* is nominated to, ``None`` without one."""
        return self.nominations.get(identity(pod))

    @property
    def node_names(self) -> Iterable[str]:
        """The nodes with nominated pods, as a live view."""
        return self._by_node.keys()

    def __len__(self) -> int:
        return len(self.nominations)

    def __repr__(self) -> str:
        return brief_of(self, nominations=self.nominations)

    def __bool__(self) -> bool:
        return bool(self.nominations)

    def check_invariants(self) -> None:
        """Raise :class:`InvariantError` if the two indexes or the kept tuples disagree. O(n)."""
        filed = {uid: name for name, pods in self._by_node.items() for uid in pods}
        if filed != self.nominations:
            raise InvariantError("nominations by node and by pod disagree")
        if not all(self._by_node.values()):
            raise InvariantError("a node without nominations is kept")
        for name, pods in self._by_node.items():
            if any(uid != identity(pod) for uid, pod in pods.items()):
                raise InvariantError(f"a pod is nominated to {name} under another's uid")
        for name, view in self._views.items():
            if view != tuple(self._by_node.get(name, {}).values()):
                raise InvariantError(f"the kept nominations of {name} are out of date")
