"""A simulator of traces without queue, cache, columns and calendar: the order of events in plain loops.

It tries all pods that wait in each instant, by priority, and gives each the first node with room. The
priorities of the pods are all different, so that no queue's idea of time decides.
"""

from __future__ import annotations

from attrs import define, field

from schedframe.runs import RunEvent
from schedframe.traces import NodeEvent, PodTemplate, Trace

Event = tuple[int, RunEvent, int, int]
"""Time, event, pod and node; −1 for none."""


@define
class Naive:
    """A run of a trace. ``events`` is what happened."""

    trace: Trace
    drops: bool = False
    now: int = 0
    free: dict[int, dict[str, int]] = field(factory=dict)
    waiting: list[int] = field(factory=list)
    running: dict[int, tuple[int, int]] = field(factory=dict)
    """Pod → node, and end; −1 for none."""
    again: list[int] = field(factory=list)
    played: set[int] = field(factory=set)
    events: list[Event] = field(factory=list)

    def run(self) -> list[Event]:
        """Play the trace and return the events."""
        while (moment := self.next_moment()) is not None:
            self.now = moment
            self.round()
        return self.events

    def next_moment(self) -> int | None:
        """Return when anything happens next, which may be now."""
        if self.again:
            return self.now
        times = [int(self.trace.pods["submit"][pod]) for pod in self.to_come()]
        times += [end for _, end in self.running.values() if end >= 0]
        times += [int(t) for i, t in enumerate(self.trace.node_events["time"]) if i not in self.played]
        return min(times, default=None)

    def round(self) -> None:
        """Losses, ends, joins, arrivals, decisions."""
        trace = self.trace
        happened = self.node_events()
        for node, event in happened:
            if event in (NodeEvent.FAIL, NodeEvent.DRAIN) and node in self.free:
                self.lose(node, event)
        for pod in [pod for pod, (_, end) in self.running.items() if end == self.now]:
            self.release(pod)
            self.note(RunEvent.ENDED, pod)
        for node, event in happened:
            if event in (NodeEvent.JOIN, NodeEvent.REPAIRED) and node not in self.free:
                template = trace.node_templates[trace.nodes["template"][node]]
                self.free[node] = dict(template.allocatable)
                kind = RunEvent.NODE_JOINED if event is NodeEvent.JOIN else RunEvent.NODE_REPAIRED
                self.note(kind, node=node)
        arrived = [pod for pod in self.to_come() if trace.pods["submit"][pod] == self.now]
        for pod in arrived:
            self.note(RunEvent.SUBMITTED, pod)
        self.waiting += [*arrived, *self.again]
        self.again = []
        self.decide()

    def node_events(self) -> list[tuple[int, NodeEvent]]:
        """Return the events of nodes of this instant that have not happened."""
        found = []
        table = self.trace.node_events
        for index, (time, node, event) in enumerate(
            zip(table["time"], table["node"], table["event"], strict=True)
        ):
            if time == self.now and index not in self.played:
                self.played.add(index)
                found.append((int(node), NodeEvent(int(event))))
        return found

    def to_come(self) -> list[int]:
        """Return the pods that have not arrived."""
        seen = {pod for _, event, pod, _ in self.events if event is RunEvent.SUBMITTED}
        return [pod for pod in range(len(self.trace)) if pod not in seen]

    def lose(self, node: int, event: NodeEvent) -> None:
        why = RunEvent.LOST if event is NodeEvent.FAIL else RunEvent.DRAINED
        for pod in [pod for pod, (there, _) in self.running.items() if there == node]:
            self.release(pod)
            self.note(why, pod)
            self.again.append(pod)
        del self.free[node]
        self.note(RunEvent.NODE_FAILED if event is NodeEvent.FAIL else RunEvent.NODE_DRAINED, node=node)

    def decide(self) -> None:
        for pod in sorted(self.waiting, key=lambda each: -self.template(each).priority):
            requests = {**self.template(pod).requests, "pods": 1}
            for node in sorted(self.free):
                room = {"pods": 110, **self.free[node]}
                if all(room.get(name, 0) >= amount for name, amount in requests.items()):
                    self.start(pod, node)
                    break
            else:
                if self.drops:
                    self.waiting.remove(pod)
                    self.note(RunEvent.REJECTED, pod)

    def start(self, pod: int, node: int) -> None:
        run = int(self.trace.pods["run"][pod])
        self.waiting.remove(pod)
        self.running[pod] = (node, -1 if run < 0 else self.now + run)
        self.take(pod, node, -1)
        self.note(RunEvent.STARTED, pod, node)

    def release(self, pod: int) -> None:
        node, _ = self.running.pop(pod)
        self.take(pod, node, 1)

    def take(self, pod: int, node: int, sign: int) -> None:
        room = self.free[node]
        for name, amount in {**self.template(pod).requests, "pods": 1}.items():
            room[name] = room.get(name, 110 if name == "pods" else 0) + sign * amount

    def template(self, pod: int) -> PodTemplate:
        return self.trace.templates[self.trace.pods["template"][pod]]

    def note(self, event: RunEvent, pod: int = -1, node: int = -1) -> None:
        self.events.append((self.now, event, pod, node))
