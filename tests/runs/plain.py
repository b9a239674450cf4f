"""The measures as plain loops over events: slow, and easy to compare with the page."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from schedframe.runs import RunEvent
from schedframe.traces import Trace

from .worlds import EVICTIONS, SECOND

Event = tuple[int, RunEvent, int, int, int]
Span = tuple[int, int, int, int, RunEvent | None]
"""Entity, start, stop, node, event that closed it."""


class Plain:
    """A run as spans in lists."""

    def __init__(self, trace: Trace, events: list[Event], end: int, waited_for: dict[int, str]) -> None:
        self.trace, self.events, self.end, self.waited_for = trace, events, end, waited_for
        self.stints = self._spans(2, (RunEvent.STARTED,), (RunEvent.ENDED, *EVICTIONS))
        self.waits = self._spans(2, (RunEvent.SUBMITTED, *EVICTIONS), (RunEvent.STARTED, RunEvent.REJECTED))
        self.ups = self._spans(
            3, (RunEvent.NODE_JOINED, RunEvent.NODE_REPAIRED), (RunEvent.NODE_DRAINED, RunEvent.NODE_FAILED)
        )
        self.submit = {pod: time for time, event, pod, _, _ in events if event is RunEvent.SUBMITTED}
        self.rejected = {pod for _, event, pod, _, _ in events if event is RunEvent.REJECTED}
        self.ended = {pod: time for time, event, pod, _, _ in events if event is RunEvent.ENDED}
        self.start: dict[int, int] = {}
        for pod, start, *_ in self.stints:
            self.start[pod] = min(start, self.start.get(pod, start))

    def _spans(self, column: int, opening: Iterable[RunEvent], closing: Iterable[RunEvent]) -> list[Span]:
        found: list[Span] = []
        opened: dict[int, tuple[int, int]] = {}
        for event in self.events:
            entity = event[column]
            if event[1] in closing and entity in opened:
                start, node = opened.pop(entity)
                found.append((entity, start, event[0], node, event[1]))
            if event[1] in opening:
                opened[entity] = (event[0], event[3])
        return found + [(entity, start, self.end, node, None) for entity, (start, node) in opened.items()]

    # ---- of pods -----------------------------------------------------------------------------------------

    def counted(self, start: int, stop: int) -> list[int]:
        return [p for p, t in self.submit.items() if start <= t and (t < stop or stop == self.end)]

    def wait(self, pod: int) -> int:
        return self.start.get(pod, self.end) - self.submit[pod]

    def slowdown(self, pod: int) -> float | None:
        work = int(self.trace.pods["run"][pod])
        if work < 0 or pod in self.rejected:
            return None
        so_far = self.end - self.submit[pod]
        running = any(entity == pod and closed is None for entity, _, _, _, closed in self.stints)
        if pod in self.ended:
            response = self.ended[pod] - self.submit[pod]
        elif pod not in self.start:
            response = so_far + work
        else:
            assert running or any(entity == pod for entity, *_ in self.stints)
            response = max(so_far, self.wait(pod) + work)
        return max(1.0, response / max(work, 10 * SECOND))

    def of_pods(self, start: int, stop: int) -> dict[str, float]:
        pods = self.counted(start, stop)
        waited = [pod for pod in pods if pod not in self.rejected]
        figures: dict[str, float] = {
            "pods": len(pods),
            "started": sum(pod in self.start for pod in pods),
            "ended": sum(pod in self.ended for pod in pods),
            "waiting": sum(pod not in self.start for pod in waited),
            "rejected": sum(pod in self.rejected for pod in pods),
        }
        waits = sorted(map(self.wait, waited))
        if waits:
            figures["wait_mean"] = float(Fraction(sum(waits), len(waits))) / SECOND
            for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)):
                figures[f"wait_{name}"] = rank(waits, share) / SECOND
            for plugin in set(self.waited_for.values()):
                blamed = [self.wait(pod) for pod in waited if self.waited_for.get(pod) == plugin]
                figures[f"wait_for[{plugin}]"] = sum(blamed) / SECOND
        slow = sorted(each for pod in pods if (each := self.slowdown(pod)) is not None)
        if slow:
            figures["slowdown_mean"] = math.fsum(slow) / len(slow)
            figures["slowdown_p50"], figures["slowdown_p99"] = rank(slow, 0.5), rank(slow, 0.99)
        return figures | self._evictions(set(pods))

    def _evictions(self, pods: set[int]) -> dict[str, float]:
        found = [span for span in self.stints if span[0] in pods and span[4] in EVICTIONS]
        figures: dict[str, float] = {"evictions": len(found)}
        for kind in EVICTIONS:
            figures[kind.name.lower()] = sum(span[4] is kind for span in found)
        kept = sum(event[4] for event in self.events if event[1] in EVICTIONS and event[2] in pods)
        lost = sum(span[2] - span[1] for span in found) - kept
        return {**figures, "lost_work": lost / SECOND}

    # ---- over time ---------------------------------------------------------------------------------------

    def over_time(self, start: int, stop: int) -> dict[str, float]:
        trace, figures = self.trace, dict[str, float]()
        length = max(stop - start, 1)
        for index, resource in enumerate(trace.resources):
            there = sum(self._room(node, index) * cut(a, b, start, stop) for node, a, b, *_ in self.ups)
            used = sum(self._request(pod, index) * cut(a, b, start, stop) for pod, a, b, *_ in self.stints)
            if there:
                figures[f"utilisation[{resource}]"] = used / there
        for name, spans in (("running", self.stints), ("queue", self.waits)):
            figures[f"{name}_mean"] = sum(cut(a, b, start, stop) for _, a, b, *_ in spans) / length
            figures[f"{name}_max"] = self._most(spans, start, stop)
        ended = [t for t in self.ended.values() if start <= t and (t < stop or stop == self.end)]
        figures["throughput"] = len(ended) * 3600 * SECOND / length
        up = [(node, cut(a, b, start, stop)) for node, a, b, *_ in self.ups]
        figures["node_hours"] = sum(time for _, time in up) / (3600 * SECOND)
        figures["cost"] = math.fsum(
            time / (3600 * SECOND) * trace.node_templates[trace.nodes["template"][node]].price
            for node, time in up
        )
        return figures

    def _most(self, spans: list[Span], start: int, stop: int) -> int:
        moments = {start, *(t for span in spans for t in span[1:3] if start <= t < stop)}
        return max(sum(a <= t and (t < b or closed is None) for _, a, b, _, closed in spans) for t in moments)

    def _request(self, pod: int, resource: int) -> int:
        return int(self.trace.requests[self.trace.pods["template"][pod], resource])

    def _room(self, node: int, resource: int) -> int:
        return int(self.trace.allocatable[self.trace.nodes["template"][node], resource])

    def shares(self, moment: int, resource: int) -> tuple[float, float] | None:
        """Return fragmentation and stranded share of a resource at a moment."""
        trace = self.trace
        up = [node for node, a, b, *_ in self.ups if a <= moment < b]
        free = {node: [self._room(node, r) for r in range(len(trace.resources))] for node in up}
        for pod, a, b, node, _ in self.stints:
            if a <= moment < b and node in free:
                free[node] = [f - self._request(pod, r) for r, f in enumerate(free[node])]
        free = {node: [max(0, each) for each in amounts] for node, amounts in free.items()}
        total = sum(amounts[resource] for amounts in free.values())
        if not total or not len(trace):
            return None
        bad = lost = 0
        for node, amounts in free.items():
            uses = [
                self._request(p, resource) > 0 and self._fits(p, node, amounts) for p in range(len(trace))
            ]
            bad += amounts[resource] * (len(trace) - sum(uses))
            lost += amounts[resource] * (not any(uses))
        return bad / (total * len(trace)), lost / total

    def _fits(self, pod: int, node: int, free: list[int]) -> bool:
        template = self.trace.templates[self.trace.pods["template"][pod]]
        labels = self.trace.node_templates[self.trace.nodes["template"][node]].labels
        allowed = all(labels.get(label) in values for label, values in template.only_on.items())
        return allowed and all(self._request(pod, r) <= each for r, each in enumerate(free))


def cut(start: int, stop: int, first: int, last: int) -> int:
    return max(0, min(stop, last) - max(start, first))


def rank(ordered: list[float] | list[int], share: float) -> float:
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
