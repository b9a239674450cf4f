"""Questions of the queue to its owner about attempts that it need not make."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Protocol

from ..._base.value import record
from ...api import Pod


@record(eq=False)
class PodClass:
    """Pods that no plugin can tell apart: an attempt for one of them has the outcome that one for any has."""

    rejectors: frozenset[str]
    """Plugins that rejected the last one of them."""
    report: str
    """Why, as the cluster shows it."""


class KnownOutcomes(Protocol):
    """Attempts that would end with a rejection if they were made now. One object for a scheduler."""

    any_rejected: bool
    """Whether :meth:`class_if_rejected` may have another answer than ``None``."""

    def stamp(self) -> Hashable:
        """Return a value that differs as soon as anything changed that an attempt may read. O(1)."""
        ...

    def class_if_rejected(self, pod: Pod) -> PodClass | None:
        """Return the class of *pod* if an attempt would end with a rejection now, ``None`` if not known."""
        ...

    def look(self) -> int:
        """Take in what changed, for the methods below; return how often classes ceased to be known so far."""
        ...

    def is_known(self, pod_class: PodClass) -> bool:
        """Return whether :meth:`few_to_try` covers *pod_class*. O(1)."""
        ...

    def few_to_try(self) -> Collection[PodClass] | None:
        """Return the known classes whose next attempt may have to be made, ``None`` if many. O(1)."""
        ...

    def must_try(self, pod_class: PodClass) -> bool:
        """Return whether the next attempt for a pod of *pod_class* must be made. O(1)."""
        ...

    def changes_of_rejectors(self) -> int:
        """Return how often the rejectors of a class changed. O(1)."""
        ...

    def rejected(self, pod: Pod, pod_class: PodClass) -> None:
        """Report a pod that waited alone and counts as attempted, in vain."""
        ...
