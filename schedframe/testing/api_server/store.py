"""Objects under resource versions, with the history that watches and consistent pages are made from.

Manifests in the store are never changed: a write replaces them. All methods hold one lock, so any thread may
call them, and ``listeners`` are called after each change by the thread that made it.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable
from typing import Any, Final

from attrs import field

from ..._base.value import record
from .kinds import ServedKind
from .refusals import Refusal

Obj = dict[str, Any]

FIRST_VERSION: Final = 1


@record(frozen=True)
class Change:
    """One write: ``old`` is ``None`` for a creation, ``new`` for a deletion."""

    version: int
    kind: ServedKind
    key: str
    old: Obj | None
    new: Obj | None


@record(frozen=True, eq=False, repr=False)
class Backup:
    """Contents of a store at one moment."""

    version: int
    compacted: int
    objects: dict[ServedKind, dict[str, Obj]]
    history: list[Change]


@record(eq=False)
class Store:
    """The objects of all kinds, and every change since the last compaction."""

    version: int = field(default=FIRST_VERSION, init=False)
    """The latest resource version."""
    compacted: int = field(default=0, init=False)
    """The history begins after this version."""
    lock: threading.RLock = field(factory=threading.RLock, init=False)
    listeners: set[Callable[[], None]] = field(factory=set, init=False)
    _objects: dict[ServedKind, dict[str, Obj]] = field(factory=dict, init=False)
    _history: list[Change] = field(factory=list, init=False)

    def get(self, kind: ServedKind, key: str) -> Obj | None:
        """Return an object, ``None`` without one. O(1)."""
        with self.lock:
            return self._objects.get(kind, {}).get(key)

    def all(self, kind: ServedKind) -> dict[str, Obj]:
        """Return the objects of a kind by key."""
        with self.lock:
            return dict(self._objects.get(kind, {}))

    def at(self, kind: ServedKind, version: int) -> dict[str, Obj]:
        """Return the objects as they were at *version*. Raises :class:`Refusal` (410) if that is compacted.

        O(objects of the kind + changes since).
        """
        with self.lock:
            self._check_version(version)
            objects = self.all(kind)
            for change in reversed(self._since(version)):
                if change.kind is kind:
                    if change.old is None:
                        del objects[change.key]
                    else:
                        objects[change.key] = change.old
            return objects

    def since(self, version: int) -> list[Change]:
        """Return the changes after *version*. Raises :class:`Refusal` (410) if that is compacted."""
        with self.lock:
            self._check_version(version)
            return self._since(version)

    def put(self, kind: ServedKind, key: str, obj: Obj) -> Obj:
        """Store *obj* under the next version, and return it with that version."""
        with self.lock:
            objects = self._objects.setdefault(kind, {})
            self.version += 1
            new = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
            self._history.append(Change(self.version, kind, key, objects.get(key), new))
            objects[key] = new
        self.notify()
        return new

    def drop(self, kind: ServedKind, key: str) -> Obj:
        """Delete an object, and return its last state."""
        with self.lock:
            old = self._objects[kind].pop(key)
            self.version += 1
            self._history.append(Change(self.version, kind, key, old, None))
        self.notify()
        return old

    def compact(self, keep: int = 0) -> None:
        """Drop the history but for the last *keep* changes: older versions are gone (410)."""
        with self.lock:
            dropped = self._history[: max(0, len(self._history) - keep)]
            if dropped:
                del self._history[: len(dropped)]
                self.compacted = dropped[-1].version
        self.notify()

    def backup(self) -> Backup:
        """Return what the store has now. O(objects + history)."""
        with self.lock:
            objects = {kind: dict(by_key) for kind, by_key in self._objects.items()}
            return Backup(self.version, self.compacted, objects, list(self._history))

    def restore(self, backup: Backup) -> None:
        """Have again what *backup* has, also its versions."""
        with self.lock:
            self.version, self.compacted = backup.version, backup.compacted
            self._objects = {kind: dict(by_key) for kind, by_key in backup.objects.items()}
            self._history = list(backup.history)
        self.notify()

    def _since(self, version: int) -> list[Change]:
        return self._history[bisect.bisect_right(self._history, version, key=lambda each: each.version) :]

    def _check_version(self, version: int) -> None:
        if version < self.compacted:
            raise Refusal(410, f"too old resource version: {version} ({self.compacted})")

    def notify(self) -> None:
        """Call all listeners."""
        for listener in tuple(self.listeners):
            listener()
