"""How large a workload is."""

from __future__ import annotations

from attrs import frozen

from .workload import Options


@frozen
class Size:
    """How large a workload is."""

    nodes: int
    init: int
    """Pods that run before."""
    pods: int
    """Pods that are measured."""

    def with_options(self, options: Options) -> Size:
        """This size where *options* do not say otherwise."""
        return Size(
            self.nodes if options.nodes is None else options.nodes,
            self.init if options.init is None else options.init,
            self.pods if options.pods is None else options.pods,
        )
