"""Callbacks of a scheduler's user, whose exceptions change nothing: after searches and plugin calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field

from .._base.value import record as record_class
from ..framework import Observer, PointObserver, Status
from .messages import Fault

if TYPE_CHECKING:
    from ..framework import Framework
    from ..queue import QueuedPodInfo
    from .core import Core
    from .search.decision import Decision


class DecisionObserver(Protocol):
    """Called with each decision. Without one, a pod costs one test more."""

    def decided(self, core: Core, framework: Framework, info: QueuedPodInfo, decision: Decision) -> None:
        """The search for a pod is over, and nothing was done about it yet: the cluster is as it was searched.

        Runs in the core. Raising is reported as a fault and changes nothing for the pod.
        """
        ...


def record(
    recorder: DecisionObserver, core: Core, framework: Framework, info: QueuedPodInfo, decision: Decision
) -> None:
    """Call *recorder* with a decision; what it raises is reported."""
    try:
        recorder.decided(core, framework, info, decision)
    except Exception as error:  # noqa: BLE001 - a note that cannot be taken must not stop the scheduler
        core.report(Status.from_error(error), info.pod, "recorder")


def contained_wake_up(core: Core, wake_up: Callable[[], None] | None) -> Callable[[], None] | None:
    """Return *wake_up* without its exceptions, which would leave the call that put a message.

    The first one is reported by the core, when it handles that message.
    """
    if wake_up is None:
        return None
    has_failed = False

    def contained() -> None:
        nonlocal has_failed
        try:
            wake_up()
        except Exception as error:  # noqa: BLE001 - as above, in any thread
            if not has_failed:
                has_failed = True
                core.inbox.note(Fault(Status.from_error(error), None, "wake_up"))

    return contained


def contained(core: Core, observer: Observer) -> Observer:
    """Return *observer* without its exceptions, which would count as those of the plugin that was called."""
    if isinstance(observer, PointObserver):
        return _ContainedPointObserver(observer, core)
    return _ContainedObserver(observer, core)


@record_class(eq=False)
class _ContainedObserver:
    """Reports the first exception of an observer. Called in the core, and in threads of the executor."""

    observer: Any
    core: Core
    _has_failed: bool = field(default=False, init=False)

    def plugin_called(self, point: str, plugin: str, seconds: float, result: Any) -> None:
        try:
            self.observer.plugin_called(point, plugin, seconds, result)
        except Exception as error:  # noqa: BLE001 - watching must not change what happens
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        # Not each one: there may be hundreds of calls for a pod.
        if not self._has_failed:
            self._has_failed = True
            self.core.inbox.put(Fault(Status.from_error(error), None, "observer"))


class _ContainedPointObserver(_ContainedObserver):
    """The same of an observer that also gets the time of each extension point."""

    def point_ended(self, point: str, seconds: float, status: Status | None) -> None:
        try:
            self.observer.point_ended(point, seconds, status)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
