"""Type checkers know the hooks: right plugins pass, and each mistake is found at its line."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from attrs import define

import schedframe.framework as framework
from schedframe import NodeInfo, Pod, Simulation, Status, hookimpl
from schedframe.framework import CycleState, FilterPlugin, ScorePlugin, hookspecs, protocols
from schedframe.testing import node, pod

from .checker import code_of, errors_in, expected_errors

RIGHT = """
from __future__ import annotations

from attrs import define

from schedframe import (
    ClusterEvent, CycleState, EventRegistration, NodeInfo, Pod, PostFilterResult, PreFilterResult,
    QueuedPodInfo, Rows, RowVerdicts, Simulation, Status, hookimpl,
)
from schedframe.framework import (
    BindPlugin, EventsPlugin, FilterPlugin, FilterRowsPlugin, NormalizePlugin, PermitPlugin, PostBindPlugin,
    PostFilterPlugin, PreBindPlugin, PreEnqueuePlugin, PreFilterPlugin, PreScorePlugin, QueueSortPlugin,
    ReservePlugin, ScorePlugin, ScoreRowsPlugin, Scores, SignaturePlugin,
)
from collections.abc import Mapping


@define(eq=False)
class Everything(
    PreEnqueuePlugin, EventsPlugin, PreFilterPlugin, FilterPlugin, PostFilterPlugin, PreScorePlugin,
    ScorePlugin, NormalizePlugin, SignaturePlugin, ReservePlugin, PermitPlugin, PreBindPlugin, BindPlugin,
    PostBindPlugin, QueueSortPlugin,
):
    @hookimpl
    def pre_enqueue(self, pod: Pod) -> Status | None:
        return None

    @hookimpl
    def events_to_register(self) -> tuple[EventRegistration, ...]:
        return ()

    @hookimpl
    def queue_sort_key(self, pod_info: QueuedPodInfo) -> tuple[int, float]:
        return (-pod_info.pod.priority, pod_info.timestamp)

    @hookimpl
    def pre_filter(self, state: CycleState, pod: Pod, nodes: Rows) -> PreFilterResult | None:
        return None

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        if node_info.labels.get("team") == pod.labels.get("team") or node_info.node.name == "any":
            return None
        return Status.unschedulable("the node belongs to another team")

    @hookimpl
    def post_filter(self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]) -> Status:
        return Status.unschedulable("no")

    @hookimpl
    def pre_score(self, state: CycleState, pod: Pod, nodes: Rows) -> None:
        return None

    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
        return len(node_info.pods)

    @hookimpl
    def normalize_scores(self, state: CycleState, pod: Pod, scores: Scores, nodes: Rows) -> Scores:
        return scores

    @hookimpl
    def pod_signature(self, pod: Pod) -> str | None:
        return pod.labels.get("team")

    @hookimpl
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        return None

    @hookimpl
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        return None

    @hookimpl
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.wait(3)

    @hookimpl
    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    @hookimpl
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None

    @hookimpl
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        return None


simulation = Simulation(plugins=[Everything])
"""

WRONG = """
from __future__ import annotations

from attrs import define

from schedframe import CycleState, NodeInfo, Pod, Status, hookimpl
from schedframe.framework import FilterPlugin, PermitPlugin, ReservePlugin, ScorePlugin


@define(eq=False)
class WrongArgument(FilterPlugin):
    @hookimpl
    def filter(self, state: CycleState, pod: int, node_info: NodeInfo) -> Status | None:  # override
        return None


@define(eq=False)
class WrongAnswer(ScorePlugin):
    @hookimpl
    def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str:  # override
        return "best"


@define(eq=False)
class WrongAnswerAtPermit(PermitPlugin):
    @hookimpl
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> bool:  # override
        return True


@define(eq=False)
class Forgotten(ReservePlugin):
    @hookimpl
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return Status.unschedulable(3)  # arg-type


plugin = Forgotten()  # abstract


@define(eq=False)
class Misread(FilterPlugin):
    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
        return None if node_info.labels["rank"] > 3 else Status.unschedulable("x")  # operator
"""


def test_mypy_accepts_right_plugins_and_finds_each_mistake(tmp_path: Path) -> None:
    found = errors_in({"right.py": RIGHT, "wrong.py": WRONG}, tmp_path)
    assert not [each for each in found if each[0] == "right.py"]
    expected = expected_errors(WRONG)
    assert len(expected) == 6
    assert [(line, code_of(message)) for _, line, message in found] == expected


PROTOCOLS = {
    name: value
    for name, value in vars(protocols).items()
    if inspect.isclass(value) and name.endswith("Plugin")
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_have_the_signatures_of_the_hooks(name: str) -> None:
    assert getattr(framework, name) is PROTOCOLS[name]
    hooks = {n: v for n, v in vars(PROTOCOLS[name]).items() if inspect.isfunction(v) and n[0] != "_"}
    assert hooks
    for hook, method in hooks.items():
        mine, specified = (inspect.signature(each) for each in (method, vars(hookspecs.Hookspecs)[hook]))
        assert mine.parameters == specified.parameters, hook
        answers = [str(each.return_annotation).split(" | ") for each in (mine, specified)]
        assert sorted(answers[0]) == sorted(answers[1]), hook


def test_a_plugin_that_inherits_works() -> None:
    @define(eq=False)
    class Tall(FilterPlugin, ScorePlugin):
        @hookimpl
        def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None:
            return None if node_info.labels.get("tall") else Status.unschedulable("too short")

        @hookimpl
        def score(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> int:
            return int(node_info.labels["tall"])

    nodes: list[Any] = [node("a"), node("b").labels(tall="3"), node("c").labels(tall="90")]
    assert Simulation(nodes, plugins=[Tall]).schedule([pod("p")])[0].node_name == "c"
