"""Everything of the cluster that is neither a node nor a pod, by kind and key, with a version per kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from attrs import define, field

_KEPT_CHANGES: Final = 4096


@define(eq=False)
class ObjectStore:
    """Namespaces, services, claims and so on as events told them; every operation is O(1) but ``list``.

    ``version(kind)`` changes whenever an object of that kind does, so that whoever remembers something
    computed from them can tell that it is stale; ``changed_since`` says of which objects.
    """

    changes: int = 0
    """Number of changes of any kind so far."""
    memo: dict[Any, Any] = field(factory=dict, repr=False)
    """Scratch space for what is derived from the objects and shared by plugins of several profiles, under a
    key of the deriver's own."""

    _objects: dict[str, dict[str, Any]] = field(factory=dict)
    _versions: dict[str, int] = field(factory=dict)
    _changed: dict[str, list[str]] = field(factory=dict)
    """Kind → keys of the objects that changed last, oldest first, perhaps repeated."""

    def set(self, obj: Any) -> None:
        """Add an object or replace the one of the same kind and key."""
        kind, key = obj.KIND, obj.key
        self._objects.setdefault(kind, {})[key] = obj
        self._note(kind, key)

    def remove(self, kind: str, key: str) -> bool:
        """Remove an object; whether it was there."""
        if self._objects.get(kind, {}).pop(key, None) is None:
            return False
        self._note(kind, key)
        return True

    def get(self, kind: str, key: str) -> Any | None:
        """The object of that kind and key (``namespace/name``, or ``name``)."""
        return self._objects.get(kind, {}).get(key)

    def list(self, kind: str) -> list[Any]:
        """All objects of a kind, in order of arrival."""
        return list(self._objects.get(kind, {}).values())

    def version(self, kind: str) -> int:
        """Number of changes of that kind so far."""
        return self._versions.get(kind, 0)

    def changed_since(self, kind: str, version: int) -> Sequence[str] | None:
        """Keys of the objects of *kind* that changed after *version*, oldest first and perhaps repeated.

        ``None`` if that is longer ago than is remembered: then any may have changed. O(changes).
        """
        missed = self._versions.get(kind, 0) - version
        keys = self._changed.get(kind, [])
        return None if missed > len(keys) else keys[len(keys) - missed :]

    def _note(self, kind: str, key: str) -> None:
        self.changes += 1
        self._versions[kind] = self._versions.get(kind, 0) + 1
        keys = self._changed.setdefault(kind, [])
        keys.append(key)
        if len(keys) > 2 * _KEPT_CHANGES:
            del keys[:_KEPT_CHANGES]
