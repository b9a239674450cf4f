"""What changed, for readers who come back later."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Generic, TypeVar

from attrs import define, field

T = TypeVar("T", bound=Hashable)
_KEPT: Final = 4096


@define(eq=False)
class Trail(Generic[T]):
    """Names of things that changed, oldest first and perhaps repeated; ``append`` is O(1) amortised."""

    version: int = 0
    """Number of changes so far."""
    _names: list[T] = field(factory=list)

    def append(self, name: T) -> None:
        """It changed."""
        self._names.append(name)
        self.version += 1
        if len(self._names) > 2 * _KEPT:
            del self._names[:_KEPT]

    def since(self, version: int) -> Sequence[T] | None:
        """What changed after *version*, ``None`` if that is longer ago than is kept."""
        missed = self.version - version
        return None if missed > len(self._names) else self._names[len(self._names) - missed :]
