"""The answer of an extension point, and what happens to the pod because of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Annotated, Any, Final

from attrs import field

from .._base.annotations import SHALLOW
from .._base.brief import shown
from .._base.checked import unchecked
from .._base.drafts import become
from .._base.plugin_faults import message_of
from .._base.validators import collection
from .._base.value import value
from .._base.wording import described
from ..errors import InputError
from ..queue import ClusterEvent, EventOf


class Code(IntEnum):
    """Result codes; the numbers are the reference's (k8s.io/kube-scheduler framework.Code)."""

    SUCCESS = 0
    """Go on. ``None`` from a hook means the same."""
    ERROR = 1
    """A fault of a plugin or of something it needs. The cycle ends; the pod backs off by its count of errors
    and is retried whatever happens in the cluster. Preemption is not tried."""
    UNSCHEDULABLE = 2
    """Not now, or not here. The pod waits until an event that the rejecting plugins registered may help it;
    preemption tries this node."""
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

REJECTIONS: Final = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@value(weakref_slot=False)
class Status:
    """One answer of one plugin: a code, reasons for people, and the plugin it came from.

    Values compare by code, reasons and plugin. Plugins usually keep theirs as module constants and leave
    ``plugin`` empty: the framework fills it in.
    """

    code: Code = Code.SUCCESS
    reasons: Annotated[tuple[str, ...], SHALLOW] = ()
    plugin: str = ""
    error: BaseException | None = field(default=None, eq=False)
    """The exception behind an ERROR, traceback included."""
    timeout: float | None = None
    """Seconds that a WAIT may last; ``None`` for any other code."""
    events: Annotated[tuple[ClusterEvent | EventOf, ...], SHALLOW] = field(default=(), eq=False)
    """What ends a WAIT of pre_bind or bind early: each a ``ClusterEvent``, or an ``EventOf`` one object."""
    details: Mapping[str, Any] | None = field(default=None, eq=False)
    """Reason → the data behind it, for programs: ``{"Insufficient cpu": {"resource": "cpu", "used": 3500}}``.

    Set by the per-node ``filter`` and read by explanations. Statuses that differ in their details alone are
    counted as one, so the details of a search are those of one of the nodes. For an exception of a plugin
    they are its ``exception`` (the type), ``message``, ``point``, ``pod`` and ``node``, and the ``file``,
    ``line`` and ``function`` of the author's code, as far as they are known; ``alike`` is the reason without
    pod and node, which is the same for all.
    """
    _checked: bool = field(default=False, init=False, eq=False, repr=False)
    _named: Status | None = field(default=None, init=False, eq=False, repr=False)
    """The last answer of ``with_plugin``: most statuses are constants of one plugin, which names them again
    and again."""

    def __hash__(self) -> int:
        # Statuses with equal reasons rarely differ in code, time limit or error.
        return hash((self.reasons, self.plugin))

    @classmethod
    def unschedulable(cls, *reasons: str, details: Mapping[str, Any] | None = None) -> Status:
        """Rejected; removing pods may help."""
        if len(reasons) == 1 and details is None and cls is Status and type(reasons[0]) is str:
            return _UNSCHEDULABLE.get(reasons[0]) or _kept(_UNSCHEDULABLE, Code.UNSCHEDULABLE, reasons)
        return cls(Code.UNSCHEDULABLE, _texts(reasons), details=details)

    @classmethod
    def unresolvable(cls, *reasons: str, details: Mapping[str, Any] | None = None) -> Status:
        """Rejected; removing pods cannot help."""
        if len(reasons) == 1 and details is None and cls is Status and type(reasons[0]) is str:
            return _UNRESOLVABLE.get(reasons[0]) or _kept(
                _UNRESOLVABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons
            )
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, _texts(reasons), details=details)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """Rejected until something outside happens."""
        return cls(Code.PENDING, _texts(reasons))

    @classmethod
    def skip(cls) -> Status:
        """This plugin has nothing to do for this pod."""
        return SKIP

    @classmethod
    def wait(cls, timeout: float, *reasons: str, events: Iterable[ClusterEvent | EventOf] = ()) -> Status:
        """Wait at most *timeout* seconds.

        Raises ``TypeError`` if that is no number, and ``ValueError`` if it is negative or not a number (NaN).
        """
        if not isinstance(timeout, int | float) or isinstance(timeout, bool):
            raise TypeError(f"the timeout of a Status must be a number of seconds, not {shown(timeout)}")
        if not timeout >= 0:
            raise ValueError(f"the timeout of a Status must be 0 or more seconds, not {shown(timeout)}")
        events = collection("events", events, "give a list of ClusterEvent and EventOf")
        return cls(Code.WAIT, _texts(reasons), timeout=timeout, events=events)

    @classmethod
    def from_error(cls, error: BaseException | str, plugin: str = "") -> Status:
        """Return an ERROR with the message of *error*; an exception is kept with its traceback."""
        if isinstance(error, BaseException):
            return cls(Code.ERROR, (message_of(error),), plugin, error)
        if not isinstance(error, str):
            raise InputError("error", f"{described(error)} is no error", "give an exception or a text")
        return cls(Code.ERROR, (error,), plugin)

    @property
    def is_success(self) -> bool:
        """Return whether the code is SUCCESS."""
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """Return whether the code is SKIP."""
        return self.code is Code.SKIP

    @property
    def is_wait(self) -> bool:
        """Return whether the code is WAIT."""
        return self.code is Code.WAIT

    @property
    def is_rejected(self) -> bool:
        """Return whether the pod was rejected (UNSCHEDULABLE, UNSCHEDULABLE_AND_UNRESOLVABLE or PENDING)."""
        return self.code in REJECTIONS

    @property
    def message(self) -> str:
        """The reasons in one line."""
        return ", ".join(self.reasons)

    def with_plugin(self, plugin: str) -> Status:
        """Return the same status with *plugin* as its origin, unless it names one.

        Raises ``TypeError`` as :meth:`check` does.
        """
        if not self._checked:
            self.check()
        if self.plugin:
            return self
        named = self._named
        if named is None or named.plugin != plugin:
            named = new_status(
                self.code, self.reasons, plugin, self.error, self.timeout, self.events, self.details
            )
            become(self, "_named", named)
        return named

    def check(self) -> None:
        """Raise ``TypeError`` for content that cannot be counted, compared or printed.

        A plugin can construct such a status; it is found where the framework reads the plugin's answer.
        """
        if type(self.code) is not Code:
            raise TypeError("the code of a Status must be a Code")
        if type(self.reasons) is not tuple:
            raise TypeError("the reasons of a Status must be a tuple of strings")
        for reason in self.reasons:
            if type(reason) is not str:
                _check_text(reason, "each reason of a Status")
        if type(self.plugin) is not str:
            _check_text(self.plugin, "the plugin of a Status")
        if self.timeout is not None and (not isinstance(self.timeout, int | float) or not self.timeout >= 0):
            raise TypeError("the timeout of a Status must be a number of seconds from 0")
        if self.error is not None and not isinstance(self.error, BaseException):
            raise TypeError("the error of a Status must be an exception")
        if self.details is not None and not isinstance(self.details, Mapping):
            raise TypeError("the details of a Status must be a mapping")
        become(self, "_checked", True)


new_status: Final = unchecked(Status)
"""Make a status of values that are known to fit."""
_MOST_KEPT = 1024
_UNSCHEDULABLE: dict[str, Status] = {}
_UNRESOLVABLE: dict[str, Status] = {}
"""Reason → rejection with that reason and nothing else, _MOST_KEPT of them at most. A filter may make
thousands of equal rejections for one pod, and a lookup takes a quarter of making one."""


def _kept(kept: dict[str, Status], code: Code, reasons: tuple[str]) -> Status:
    if len(kept) >= _MOST_KEPT:
        kept.clear()
    status = kept[reasons[0]] = new_status(code, reasons)
    return status


def _texts(reasons: tuple[str, ...]) -> tuple[str, ...]:
    """Return *reasons*. Raises :class:`InputError` unless each is a text."""
    for index, reason in enumerate(reasons):
        if not isinstance(reason, str):
            fix = f"give a str: {shown(shown(reason))}" if isinstance(reason, int | float) else "give a str"
            raise InputError(f"reasons[{index}]", f"{described(reason)} is not a text", fix)
    return reasons


def _check_text(value: Any, what: str) -> None:
    """Refuse what is no text; a subclass of ``str``, such as a ``StrEnum``, will do if it can be hashed."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string")
    try:
        hash(value)
    except Exception as error:
        raise TypeError(f"{what} must be hashable") from error


SUCCESS = Status()
SKIP = Status(Code.SKIP)
