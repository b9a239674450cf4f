"""A plugin at every extension point that does what labels ask for, and records its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import define, field

from schedframe import EventRegistration, NodeInfo, Pod, Status, hookimpl
from schedframe.framework.hookspecs import Scores
from schedframe.queue import EVERYTHING

WAIT = "permit-seconds"
"""Label: permit lets the pod wait; its value is in seconds."""
PARK = "pre-bind-seconds"
"""Label: pre_bind waits for an event, at most for its value in seconds, and then goes on."""

MOODS = ("raise", "error", "reject", "unresolvable", "pending", "nonsense")
POINTS = (
    "pre_enqueue",
    "hint",
    "pre_filter",
    "filter",
    "post_filter",
    "pre_score",
    "score",
    "normalize_scores",
    "reserve",
    "unreserve",
    "permit",
    "pre_bind_pre_flight",
    "pre_bind",
    "bind",
    "post_bind",
)


@define(eq=False)
class Chaos:
    """Rejects, fails and talks nonsense on demand; ``problems`` lists what a scheduler must never do."""

    handle: Any
    moods: dict[str, str] = field(factory=dict)
    """Point → what to do at the next call instead of nothing."""
    reserved: set[str] = field(factory=set)
    parked: set[str] = field(factory=set)
    bound: set[str] = field(factory=set)
    """Pods whose bind took effect, by uid."""
    problems: list[str] = field(factory=list)
    attempts_of: Callable[[Pod], int] = lambda pod: 0
    """Number of scheduling cycles of a pod."""
    _cycle: tuple[str, int] = ("", 0)
    _acted: dict[tuple[str, str], str | None] = field(factory=dict)
    """(point, node) → what was done there in this cycle."""

    def _act(self, point: str) -> Any:
        return self._as(self.moods.pop(point, None), point)

    def _search(self, point: str, pod: Pod, node: str = "") -> Any:
        """As :meth:`_act`, and the same again in the same cycle: verify mode decides twice."""
        cycle = (pod.uid, self.attempts_of(pod))
        if cycle != self._cycle:
            self._cycle, self._acted = cycle, {}
        mood = self._acted.setdefault((point, node), self.moods.get(point))
        self.moods.pop(point, None)
        return self._as(mood, point)

    def _as(self, mood: str | None, point: str) -> Any:
        if mood is None:
            return None
        if mood == "raise":
            raise RuntimeError(f"chaos at {point}")
        if mood == "error":
            return Status.from_error("chaos")
        if mood == "reject":
            return Status.unschedulable("chaos")
        if mood == "unresolvable":
            return Status.unresolvable("chaos")
        if mood == "pending":
            return Status.pending("chaos")
        return {"what": "nonsense"}

    # ---- queue ----

    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Any:
        return self._act("pre_enqueue")

    @hookimpl
    def events_to_register(self) -> Any:
        return tuple(EventRegistration(one.event, self._hint) for one in EVERYTHING)

    def _hint(self, pod: Pod, old: Any, new: Any) -> Any:
        answer = self._act("hint")
        return True if answer is None else answer

    # ---- scheduling cycle ----

    @hookimpl
    def pre_filter(self, pod: Pod) -> Any:
        return self._search("pre_filter", pod)

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Any:
        return self._search("filter", pod, node_info.name)

    @hookimpl
    def post_filter(self, pod: Pod) -> Any:
        return self._act("post_filter")

    @hookimpl
    def pre_score(self, pod: Pod) -> Any:
        return self._search("pre_score", pod)

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> Any:
        answer = self._search("score", pod, node_info.name)
        return 7 if answer is None else answer

    @hookimpl
    def normalize_scores(self, pod: Pod, scores: Scores) -> Any:
        return self._search("normalize_scores", pod)

    @hookimpl
    def reserve(self, pod: Pod, node_name: str) -> Any:
        if pod.uid in self.reserved:
            self.problems.append(f"{pod.key} is reserved twice")
        self.reserved.add(pod.uid)
        self._check_room(pod, node_name)
        return self._act("reserve")

    def _check_room(self, pod: Pod, node_name: str) -> None:
        table = self.handle.table
        row = table.live_row(node_name)
        if row is None:
            self.problems.append(f"{pod.key} is placed on {node_name}, which is not there")
            return
        info = table.info(row)
        if len(info.pods) > info.allowed_pods:
            self.problems.append(f"{len(info.pods)} pods on {node_name}")
        if pod.requests.get("cpu", 0) and info.requested["cpu"] > info.allocatable["cpu"]:
            self.problems.append(f"{pod.key} makes {node_name} hold {info.requested['cpu']}m")

    @hookimpl
    def unreserve(self, pod: Pod) -> None:
        self.reserved.discard(pod.uid)
        self._act("unreserve")

    @hookimpl
    def permit(self, pod: Pod) -> Any:
        answer = self._act("permit")
        if answer is None and WAIT in pod.labels:
            return Status.wait(float(pod.labels[WAIT]))
        return answer

    # ---- binding cycle ----

    @hookimpl
    def pre_bind_pre_flight(self, pod: Pod) -> Any:
        answer = self._act("pre_bind_pre_flight")
        if answer is None and PARK not in pod.labels and "pre_bind" not in self.moods:
            return Status.skip()
        return answer

    @hookimpl
    def pre_bind(self, pod: Pod) -> Any:
        answer = self._act("pre_bind")
        if answer is None and PARK in pod.labels and pod.uid not in self.parked:
            self.parked.add(pod.uid)
            return Status.wait(float(pod.labels[PARK]), events=[EVERYTHING[1].event])
        return answer

    @hookimpl
    def bind(self, pod: Pod, node_name: str) -> Any:
        answer = self._act("bind")
        if answer is not None:
            return answer
        if pod.uid in self.bound:
            self.problems.append(f"{pod.key} is bound twice")
        before = self._node_of(pod)
        try:
            self.handle.cluster.bind(pod, node_name)
        finally:
            if before == "" and self._node_of(pod) == node_name:
                self.bound.add(pod.uid)
        return None

    def _node_of(self, pod: Pod) -> str | None:
        found = {one.uid: one.spec.node_name for one in self.handle.cluster.list("Pod")}
        return found.get(pod.uid)

    @hookimpl
    def post_bind(self, pod: Pod) -> None:
        self.reserved.discard(pod.uid)
        self._act("post_bind")
