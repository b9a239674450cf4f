"""What an extension point answers, and what happens to the pod because of it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Any

from attrs import field, frozen


class Code(IntEnum):
    """Result codes; the numbers are the reference's (k8s.io/kube-scheduler framework.Code)."""

    SUCCESS = 0
    """Go on. ``None`` from a hook means the same."""
    ERROR = 1
    """A fault of a plugin or of something it needs. The cycle ends; the pod backs off by its count of errors
    and is retried whatever happens in the cluster. Preemption is not tried."""
    UNSCHEDULABLE = 2
    """Not now, or not here. The pod waits until an event that the rejecting plugins registered may help it;
    preemption on this node is worth trying."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """As UNSCHEDULABLE, and removing other pods would not help: preemption leaves this node out."""
    WAIT = 4
    """Permit: park the pod until every waiting plugin allows it, one rejects it or its timeout passes.
    Pre-bind and bind: the plugin waits for the outside world until the status' deadline."""
    SKIP = 5
    """pre_filter, pre_score: leave this plugin out of filter or score for this pod. bind: not mine, ask the
    next plugin. pre_bind_pre_flight: pre_bind has nothing to do."""
    PENDING = 6
    """Permit or reserve rejected the pod because it waits for something outside, no fault of the cluster; the
    pod goes to the unschedulable pool and leaves it without backoff once that plugin's hint says Queue."""

    @property
    def label(self) -> str:
        """The reference's spelling, as in ``UnschedulableAndUnresolvable``."""
        return _LABELS[self]


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}

_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@frozen
class Status:
    """One answer of one plugin: a code, reasons for people, and the plugin it came from.

    Values compare by code, reasons and plugin. Plugins usually keep theirs as module constants and leave
    ``plugin`` empty: the framework fills it in.
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    error: BaseException | None = field(default=None, eq=False)
    """The exception behind an ERROR, traceback included."""
    timeout: float | None = None
    """Seconds that a WAIT may last; ``None`` for any other code."""
    events: tuple[Any, ...] = field(default=(), eq=False)
    """What ends a WAIT of pre_bind or bind early: each a ``ClusterEvent``, or an ``EventOf`` one object."""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Rejected; removing pods may help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Rejected; removing pods cannot help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """Rejected until something outside happens."""
        return cls(Code.PENDING, reasons)

    @classmethod
    def skip(cls) -> Status:
        """This plugin has nothing to do for this pod."""
        return SKIP

    @classmethod
    def wait(cls, timeout: float, *reasons: str, events: Iterable[Any] = ()) -> Status:
        """Wait at most *timeout* seconds."""
        return cls(Code.WAIT, reasons, timeout=timeout, events=tuple(events))

    @classmethod
    def from_error(cls, error: BaseException | str, plugin: str = "") -> Status:
        """An ERROR with the message of *error*; an exception is kept with its traceback."""
        if isinstance(error, BaseException):
            text = str(error) or type(error).__name__
            return cls(Code.ERROR, (text,), plugin, error)
        return cls(Code.ERROR, (error,), plugin)

    @property
    def is_success(self) -> bool:
        """Whether the code is SUCCESS."""
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """Whether the code is SKIP."""
        return self.code is Code.SKIP

    @property
    def is_wait(self) -> bool:
        """Whether the code is WAIT."""
        return self.code is Code.WAIT

    @property
    def is_rejected(self) -> bool:
        """Whether the pod was turned down (UNSCHEDULABLE, UNSCHEDULABLE_AND_UNRESOLVABLE or PENDING)."""
        return self.code in _REJECTIONS

    @property
    def message(self) -> str:
        """The reasons in one line."""
        return ", ".join(self.reasons)

    def with_plugin(self, plugin: str) -> Status:
        """The same status, said by *plugin* (unless it already names one)."""
        if self.plugin:
            return self
        return Status(self.code, self.reasons, plugin, self.error, self.timeout, self.events)


SUCCESS = Status()
SKIP = Status(Code.SKIP)
