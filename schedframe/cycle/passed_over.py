"""One event for the pods of a class that wait together: what observers see of attempts that are not made."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import field

from .._base.value import record
from ..queue import PodClass
from ..queue.together.cohort import Line
from .outcomes import PassedOver


@record(eq=False)
class PassedOverPods:
    """Calls observers with the classes whose reason or number of pods changed."""

    passed_over: Callable[[PassedOver], None]
    _shown: dict[PodClass, tuple[int, str]] = field(factory=dict, init=False)
    """Pods and reason of each class at the last look."""

    def look(self, lines: Iterable[Line]) -> None:
        """Compare *lines* of pods that wait together with those of the last call. O(lines)."""
        before, self._shown = self._shown, {}
        by_class: dict[PodClass, list[Line]] = {}
        for line in lines:
            by_class.setdefault(line.pod_class, []).append(line)
        for pod_class, found in by_class.items():
            pods = sum([len(line) for line in found])
            self._shown[pod_class] = pods, pod_class.report
            if before.get(pod_class) != (pods, pod_class.report):
                pod, rejectors = found[0].head.pod, tuple(sorted(pod_class.rejectors))
                profile = pod.spec.scheduler_name
                self.passed_over(PassedOver(profile, pod.key, pods, pod_class.report, rejectors))
