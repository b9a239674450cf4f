"""Preemption with victims of a plugin's own choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from schedframe import CycleState, Handle, NodeInfo, Pod, PostFilterResult, Simulation, Status, hookimpl
from schedframe.framework import PreemptionEvaluator
from schedframe.testing import node, pod
from tests.configurations import configuration

CONFIG: dict[str, Any] = configuration(
    {
        "plugins": {
            "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "Lenders"}]},
        }
    }
)


@define(eq=False)
class AllBorrowersTogether(PreemptionEvaluator):
    """Pods marked as borrowers may go whatever their priority, if there are two of them at least."""

    by_priority = False

    def potential_victims(self, state: CycleState, pod: Pod, info: NodeInfo) -> Sequence[Pod]:
        found = [other for other in info.pods.values() if "borrowed" in other.labels]
        return found if len(found) > 1 else []


@define(eq=False)
class Lenders:
    handle: Handle
    evaluator: PreemptionEvaluator = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.evaluator = AllBorrowersTogether(self.handle, "Lenders")

    @hookimpl
    def post_filter(
        self, state: CycleState, pod: Pod, statuses: Mapping[str, Status]
    ) -> tuple[PostFilterResult | None, Status]:
        return self.evaluator.preempt(state, pod, statuses)


def test_potential_victims_decide_who_may_go_and_only_those_go_that_must() -> None:
    world = Simulation([node("one", cpu=4), node("two", cpu=4)], CONFIG, plugins={"Lenders": Lenders})
    world.add(pod("own").requests(cpu=3).on_node("one"))
    world.add(pod("alone").requests(cpu=1).labels(borrowed="yes").priority(9).on_node("one"))
    for name, priority in (("high", 9), ("low", 8)):
        world.add(pod(name).requests(cpu=2).labels(borrowed="yes").priority(priority).on_node("two"))
    world.schedule([pod("new").requests(cpu=2)])
    assert {found.name for found in world.cluster.list("Pod")} == {"own", "alone", "high", "new"}
