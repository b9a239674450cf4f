"""A log of changes: each reader keeps a version and asks which names changed since then."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Generic, TypeVar

from attrs import define, field

T = TypeVar("T", bound=Hashable)
_MIN_KEPT: Final = 4096
"""Changes that are kept at least. A reader that missed more has to read everything."""


@define(eq=False)
class ChangeLog(Generic[T]):
    """Names of changed things, oldest first, possibly repeated; ``append`` is O(1) amortised."""

    version: int = 0
    """Number of changes so far."""
    _names: list[T] = field(factory=list)

    def append(self, name: T) -> None:
        """Record a change."""
        self._names.append(name)
        self.version += 1
        if len(self._names) > 2 * _MIN_KEPT:
            del self._names[:_MIN_KEPT]

    def since(self, version: int) -> Sequence[T] | None:
        """Return the changes after *version*, ``None`` if some of them are no longer kept."""
        missed = self.version - version
        return None if missed > len(self._names) else self._names[len(self._names) - missed :]
