"""Everything of the cluster that is neither a node nor a pod, by kind and key, with a version per kind."""

from __future__ import annotations

from typing import Any

from attrs import define, field


@define(eq=False)
class ObjectStore:
    """Namespaces, services, claims and so on as events told them; every operation is O(1) but ``list``.

    ``version(kind)`` changes whenever an object of that kind does, so that whoever remembers something
    computed from them can tell that it is stale.
    """

    _objects: dict[str, dict[str, Any]] = field(factory=dict)
    _versions: dict[str, int] = field(factory=dict)

    def set(self, obj: Any) -> None:
        """Add an object or replace the one of the same kind and key."""
        self._objects.setdefault(obj.KIND, {})[obj.key] = obj
        self._versions[obj.KIND] = self._versions.get(obj.KIND, 0) + 1

    def remove(self, kind: str, key: str) -> bool:
        """Remove an object; whether it was there."""
        if self._objects.get(kind, {}).pop(key, None) is None:
            return False
        self._versions[kind] = self._versions.get(kind, 0) + 1
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
