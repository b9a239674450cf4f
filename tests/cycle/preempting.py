"""A plugin, an eviction and a cluster that keep an eye on preemption."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from schedframe import Pod, Status, hookimpl
from schedframe.cluster import FlakyCluster
from schedframe.framework import Candidate
from schedframe.framework.preemption import Eviction
from schedframe.framework.preemption.eviction import EvictionOrders

from .chaos import PARK, WAIT


@define(eq=False)
class Guard:
    """Lets pods wait in permit and pre_bind, and checks that no pod gets room that is not there."""

    handle: Any
    parked: set[str] = field(factory=set)
    problems: list[str] = field(factory=list)

    @hookimpl
    def events_to_register(self) -> tuple[()]:
        return ()

    @hookimpl
    def reserve(self, pod: Pod, node_name: str) -> None:
        row = self.handle.table.live_row(node_name)
        info = self.handle.table.info(row)
        cpu = pod.requests.get("cpu", 0)
        expected = [
            other.requests.get("cpu", 0)
            for other in self.handle.nominator.nominated_pods_for_node(node_name)
            if other.uid != pod.uid and other.priority >= pod.priority
        ]
        if cpu and info.requested["cpu"] + sum(expected) > info.allocatable["cpu"]:
            self.problems.append(f"{pod.key} takes room on {node_name} that others have, or are to have")

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        return Status.wait(float(pod.labels[WAIT])) if WAIT in pod.labels else None

    @hookimpl
    def pre_bind_pre_flight(self, pod: Pod) -> Status | None:
        return None if PARK in pod.labels else Status.skip()

    @hookimpl
    def pre_bind(self, pod: Pod) -> Status | None:
        if pod.uid in self.parked:
            return None
        self.parked.add(pod.uid)
        return Status.wait(float(pod.labels[PARK]))


@define(eq=False)
class WatchedEviction(Eviction):
    """Checks what preemptions ask for."""

    ordered: dict[str, int] = field(factory=dict)
    """Uid of a victim → the highest priority of those that wanted it gone."""
    problems: list[str] = field(factory=list)

    def start(self, preemptor: Pod, candidate: Candidate) -> EvictionOrders:
        """As ever."""
        table = self.handle.table
        row = table.live_row(candidate.node_name)
        here = table.pods_at(row) if row is not None else {}
        for victim in candidate.victims:
            if victim.priority >= preemptor.priority:
                self.problems.append(f"{victim.key} goes for {preemptor.key}, which is no more important")
            if victim not in here.values():
                self.problems.append(f"{victim.key} is not on {candidate.node_name}")
            self.ordered[victim.uid] = max(preemptor.priority, self.ordered.get(victim.uid, -1))
        if self.is_in_progress(preemptor):
            self.problems.append(f"{preemptor.key} preempts while it is still at it")
        orders = super().start(preemptor, candidate)
        if {*orders.evicted, *orders.stopped} - set(candidate.victims):
            self.problems.append(f"{preemptor.key} evicts another pod")
        return orders


@define(eq=False)
class WatchedCluster(FlakyCluster):
    """Keeps a list of those that it was asked to evict."""

    evicted: list[Pod] = field(factory=list)

    def evict(self, pod: Pod, **details: Any) -> None:
        """As ever."""
        self.evicted.append(pod)
        self.cluster.evict(pod, **details)
