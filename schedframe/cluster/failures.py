"""Failures on order: the next calls of an operation go wrong in the way a test wants."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from attrs import field

from .._base.checked import check_arguments
from .._base.value import record

OPERATIONS: Final = (
    "apply",
    "bind",
    "create",
    "delete",
    "evict",
    "get",
    "list",
    "patch_pod_status",
    "record_event",
    "update",
    "watch",
)
Match = Callable[[Any], bool]


@record(eq=False)
class _Failure:
    error: Exception | type[Exception]
    times: int
    match: Match | None
    applied: bool


@record(eq=False)
class Failures:
    """Failures that wait for their operation, in the order in which they were ordered."""

    waiting: dict[str, list[_Failure]] = field(factory=dict)
    """By operation; empty if nothing is to go wrong."""
    _lock: threading.Lock = field(factory=threading.Lock)

    def order(
        self,
        operation: str,
        error: Exception | type[Exception],
        times: int,
        match: Match | None,
        applied: bool,
    ) -> None:
        """See :meth:`InMemoryCluster.fail_next`."""
        if operation not in OPERATIONS:
            raise ValueError(f"no operation {operation!r}; there are {', '.join(OPERATIONS)}")
        if times < 1:
            raise ValueError(f"times is {times}; order at least one failure")
        with self._lock:
            self.waiting.setdefault(operation, []).append(_Failure(error, times, match, applied))

    @contextmanager
    def around(self, operation: str, subject: Any) -> Iterator[None]:
        """Run the operation on *subject*; fail before it, or after it where the failure is ``applied``."""
        with self._lock:
            failure = self._take(operation, subject)
        if failure is not None and not failure.applied:
            raise failure.error
        yield
        if failure is not None:
            raise failure.error

    def _take(self, operation: str, subject: Any) -> _Failure | None:
        waiting = self.waiting.get(operation, [])
        for failure in waiting:
            if failure.match is None or failure.match(subject):
                failure.times -= 1
                if not failure.times:
                    waiting.remove(failure)
                    if not waiting:
                        del self.waiting[operation]
                return failure
        return None


class _Failing(Protocol):
    _failures: Failures


C = TypeVar("C", bound=_Failing)
S = TypeVar("S")
P = ParamSpec("P")
R = TypeVar("R")


def may_fail(method: Callable[Concatenate[C, S, P], R]) -> Callable[Concatenate[C, S, P], R]:
    """Let ordered failures get between the caller and *method*, an operation, and check its arguments.

    The arguments are checked only when something lacks an attribute.
    """
    operation = method.__name__

    @wraps(method)
    def run(self: C, subject: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if self._failures.waiting:
                with self._failures.around(operation, subject):
                    return method(self, subject, *args, **kwargs)
            return method(self, subject, *args, **kwargs)
        except AttributeError:
            check_arguments(method, subject, *args, **kwargs)
            raise

    return run
