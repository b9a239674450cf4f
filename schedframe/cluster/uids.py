"""Uids of the objects in a cluster: two objects of a kind never have one, as caches are kept by uid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from attrs import field

from .._base.value import record
from ..api import ClusterObject
from ..errors import InputError, InvariantError, Problems


def uid_taken(obj: ClusterObject, owner: str) -> InputError:
    """Return the error for *obj*, whose uid is that of another object; *owner* says of which one."""
    fix = "remove metadata.uid from one of them"
    return InputError("metadata.uid", f"uid {obj.uid} of {obj.KIND} {obj.key} is that of {owner}", fix)


@record(eq=False, repr=False)
class Uids:
    """Set of the uids of each kind."""

    objects: Mapping[str, Mapping[str, ClusterObject]]
    """The objects of the cluster by kind and key: a live view."""
    _taken: defaultdict[str, dict[str, None]] = field(factory=lambda: defaultdict(dict))

    def has(self, kind: str, uid: str) -> bool:
        """Return whether an object of *kind* has *uid*; no object has an empty one. O(1)."""
        return uid in self._taken[kind]

    def take(self, kind: str, uid: str, number: int) -> str:
        """Record and return the uid of a new object: *uid*, or one made of *number* if it is empty."""
        taken = self._taken[kind]
        uid = uid or f"uid-{number}"
        while uid in taken:  # an object of another cluster has brought it
            uid += "-again"
        taken[uid] = None
        return uid

    def fill(self, kind: str, uids: dict[str, None]) -> None:
        """Let *uids*, which are kept, be those of the objects of *kind*."""
        self._taken[kind] = uids

    def release(self, kind: str, uid: str) -> None:
        """Forget the uid of an object that is gone. O(1)."""
        self._taken[kind].pop(uid, None)

    def check(self, objects: Iterable[ClusterObject]) -> None:
        """Raise :class:`InputError` if one of *objects* has the uid of another object of its kind.

        The other one may be in the cluster or among *objects*. :class:`InputErrors` for several of them.
        O(objects).
        """
        problems, first = Problems(), dict[tuple[str, str], ClusterObject]()
        for obj in objects:
            kind, uid = obj.KIND, obj.uid
            if not uid:
                continue
            other = first.setdefault((kind, uid), obj)
            if other is obj and self.has(kind, uid):
                same = self.objects[kind].get(obj.key)
                owners = (each for each in self.objects[kind].values() if each.uid == uid)
                other = same if same is not None and same.uid == uid else next(owners)
            if other is not obj and (other.key != obj.key or not obj.name):
                problems.errors += uid_taken(obj, f"{kind} {other.key}").errors
        problems.raise_any()

    def check_invariants(self, kind: str, uids: list[str]) -> None:
        """Raise :class:`InvariantError` unless *uids*, those of all objects of *kind*, are those here."""
        if len(uids) != len(self._taken[kind]) or self._taken[kind].keys() != set(uids):
            raise InvariantError(f"the uids of {kind} are {sorted(uids)}, not {sorted(self._taken[kind])}")
