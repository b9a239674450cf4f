"""Choices of the caller: size of a workload, seed, and a callback for progress."""

from __future__ import annotations

from collections.abc import Callable

from .._base.value import record, value

Progress = Callable[[str], None]
"""Called with a short text before each step of a benchmark."""


@value
class Options:
    """Choices for one run of a benchmark; ``None`` selects the default of the template."""

    nodes: int | None = None
    init: int | None = None
    pods: int | None = None
    seed: int = 0
    percentage: int | None = None
    """percentageOfNodesToScore; 0 is kube-scheduler's adaptive sampling, ``None`` scores all nodes."""
    metrics: bool = False
    """Whether the scheduler counts for metrics, which nothing reads."""


@record(frozen=True)
class Size:
    """Size of a workload."""

    nodes: int
    init: int
    """Pods that run before the measurement."""
    pods: int
    """Pods whose scheduling is measured."""

    def with_options(self, options: Options) -> Size:
        """Return this size with the numbers that *options* set."""
        return Size(
            self.nodes if options.nodes is None else options.nodes,
            self.init if options.init is None else options.init,
            self.pods if options.pods is None else options.pods,
        )


def no_progress(step: str) -> None:
    """Ignore progress."""
