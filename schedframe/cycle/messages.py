"""The messages of the inbox: a closed set of values, all that reaches the core from outside or later.

A message names pods by uid, and work by number, and holds nothing of the core, so a list of messages can be
kept, and handled by another core that is in the same state. Two are no part of what a scheduler decides:
:class:`Fault` and :class:`Question` change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from enum import Enum
from typing import Any

from attrs import field

from .._base.value import record
from ..api import Pod
from ..cluster import ViewChange, WatchEvent
from ..config import EffectiveConfig
from ..framework import Status
from .runtime.inbox import Interruption


class WorkKind(Enum):
    """Kinds of work off the core, see :meth:`.core.Core.submit`."""

    BIND = "bind"
    """What is left of pre_bind, then bind; or the question what became of a bind."""
    WRITE = "write"
    """The status of a pod or a pod group."""
    PLUGIN = "plugin"
    """Work of a plugin, by :meth:`Handle.off_core`."""


@record(frozen=True, weakref_slot=False)
class WorkEnded:
    """Work off the core is over."""

    number: int
    """Counted from 1, in the order in which work was submitted."""
    kind: WorkKind
    result: Any
    """A status or ``None``, if it is not that of a plugin."""


@record(frozen=True)
class BindLimit:
    """The number of binds that may be under way at a time."""

    limit: int


@record(frozen=True)
class Verdict:
    """A plugin allows a pod that waits in permit, or rejects it."""

    uid: str
    plugin: str
    rejection: Status | None
    """``None``: allowed."""


@record(frozen=True)
class Reported:
    """Finding of a hook off the core, see :meth:`Handle.reporter`."""

    name: str
    uid: str
    """Of the pod that is being bound."""
    value: Any


@record(frozen=True)
class Activation:
    """Pending pods are to be tried again at once."""

    pods: tuple[Pod, ...] | None
    """``None``: all that are pending when the message is handled."""


@record(frozen=True)
class Reload:
    """Go on with another configuration from the next cycle on."""

    config: EffectiveConfig
    done: Future[None] = field(factory=Future, eq=False, repr=False)
    """For the thread that asked: gets ``None``, or the error for which nothing changed."""


@record(frozen=True)
class Rest:
    """The attempt of pods takes long: they are not tried again before that second of the clock."""

    pods: tuple[Pod, ...]
    until: int


@record(frozen=True)
class Fault:
    """A fault that was met off the core, to be reported; changes nothing for any pod."""

    status: Status
    pod: Pod | None
    where: str


@record(frozen=True)
class Question:
    """A look at the state of the core, for another thread; changes nothing."""

    look: Callable[[], object]


@record(frozen=True)
class StoppedBinding:
    """The attempt of a pod that was stopped while it was paused is to end. Put by the core itself."""

    uid: str


@record(frozen=True)
class Withdrawal:
    """The nomination of a pod is withdrawn once the cycle is over. Put by the core itself."""

    pod: Pod


@record(frozen=True)
class InterruptedQueueing:
    """A hook of the queue was interrupted for a pod, which says nothing about it. Put by the core itself."""

    pod: Pod


@record(frozen=True)
class GroupPlaced:
    """Members of a group were placed, of which some may wait in permit. Put by the core itself."""

    uids: tuple[str, ...]


Message = (
    WatchEvent
    | ViewChange
    | WorkEnded
    | BindLimit
    | Verdict
    | Reported
    | Activation
    | Reload
    | Rest
    | Fault
    | Question
    | Interruption
    | StoppedBinding
    | Withdrawal
    | InterruptedQueueing
    | GroupPlaced
)
