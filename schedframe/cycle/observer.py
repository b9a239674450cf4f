"""DecisionObserver: the call-back after every search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ..framework import Status

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
