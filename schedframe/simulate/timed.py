"""A copy of a simulation whose time passes: a cluster and a scheduler for a run of a trace."""

from __future__ import annotations

from typing import Final, Unpack

from ..api import DaemonSet, Node
from ..api.resources import whole_amount
from ..cluster import InMemoryCluster
from ..controllers import Workloads
from ..cycle import Scheduler, Tuning, VirtualClock
from ..cycle.options import SchedulerOptions
from ..fork.copying import refuse_what_cannot_fork
from ..fork.offline import OfflineCluster
from ..fork.sources import objects_of
from ..traces import NodeTemplate

EPOCH: Final = 1_700_000_000
"""Seconds since 1970 at which traces without dates begin."""


class TimedCluster(OfflineCluster):
    """The objects of a simulation, and a scheduler with its configuration and options.

    Pods that no plugin can tell apart wait together, which changes the speed and no decision; *changes* are
    other options of it. Raises :class:`PluginError` for a plugin that cannot be made a second time.
    """

    def __init__(self, source: OfflineCluster, epoch: int, **changes: Unpack[SchedulerOptions]) -> None:
        refuse_what_cannot_fork(source.scheduler)
        self.clock = VirtualClock(float(epoch))
        self.strict, self.without = source.strict, source.without
        self.cluster = InMemoryCluster(clock=self.clock, strict=self.strict, event_capacity=0)
        options = source.scheduler.options
        keywords: SchedulerOptions = {
            "clock": self.clock,
            "registry": source.scheduler.registry,
            "extenders": options["extenders"],
            "seed": options["seed"],
            "tuning": Tuning(verify=options["tuning"].verify),
            "score_all_nodes": options["score_all_nodes"],
            **changes,
        }
        self.scheduler = Scheduler(self.cluster, source.scheduler.config, **keywords)
        self._begin(objects_of(source.scheduler.core), Workloads.IGNORE)
        # They make pods for nodes that join. All other workloads have their pods already.
        self.add(*source.cluster.list(DaemonSet.KIND))


def template_of(node: Node) -> NodeTemplate:
    """Return what a run knows of a node that is no node of the trace."""
    amounts = {name: whole_amount(name, amount) for name, amount in node.status.allocatable.items()}
    return NodeTemplate(amounts, node=node)
