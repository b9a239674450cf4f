"""Pod groups and placements as plugins see them: which pods belong together, and where they may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import field

from .._base.value import record, value
from ..api import Pod, PodGroup
from ..state import Rows
from .cycle_state import StateKey
from .status import Status

CanRun: TypeAlias = Callable[[], "Mapping[str, str] | Status"]
"""Tries a group on the table as it is: uid → node of the members that would be placed, or why it cannot."""
GROUP_TRIAL: StateKey[bool] = StateKey("PodGroupTrial")
"""Set while the members of a group are placed on trial: reserve and permit run again when they are placed."""
DEFERRED_EVICTIONS: StateKey[list[Callable[[], object]]] = StateKey("DeferredEvictions")
"""Evictions that post_filter chose on trial; they begin only if the group can run without the victims."""


@record(frozen=True, eq=False)
class PodGroupInfo:
    """A group in an attempt to place it."""

    key: str
    """``namespace/name``."""
    group: PodGroup | None
    """``None`` if there is no such object."""
    pods: tuple[Pod, ...]
    """The members to place, in the order in which they are tried."""
    scheduled: tuple[Pod, ...] = ()
    """The members that have a node, each with its node."""


@value(eq=False)
class GroupPlacement:
    """Nodes among which all members of a group are to be placed."""

    name: str
    """Such as the value of a label; empty for the placement of a group without constraint."""
    rows: Rows = field(repr=False)


@value(eq=False)
class GroupPreemption:
    """Room that can be made for a group."""

    evict: Callable[[], None] = field(repr=False)
    """Begins to evict the victims."""
    nominations: Mapping[str, str]
    """By uid: the node of each member that would be placed."""
    victims: tuple[Pod, ...]
