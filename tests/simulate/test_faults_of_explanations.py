"""What a plugin raises while it explains, or in a hint, is shown in place of its answer."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Sequence

import pytest

from schedframe import (
    Action,
    ClusterEvent,
    CycleState,
    EventRegistration,
    EventResource,
    NodeInfo,
    Pod,
    Status,
    evaluate,
    hookimpl,
)
from schedframe.queue import QueueingHint
from schedframe.simulate import queueing_hint
from schedframe.simulate.hints import HintAnswer
from schedframe.testing import node, pod

FAULTS = [RuntimeError("no idea"), CancelledError("no idea")]


class Mute:
    """Rejects all nodes, and raises when asked why or whether an event helps."""

    error: BaseException

    @hookimpl
    def filter(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> Status:
        return Status.unschedulable("never")

    @hookimpl
    def explain(self, state: CycleState, pod: Pod, node_info: NodeInfo) -> str:
        raise self.error

    @hookimpl
    def explain_pod(self, state: CycleState, pod: Pod) -> Sequence[str]:
        raise self.error

    @hookimpl
    def events_to_register(self) -> list[EventRegistration]:
        def hint(pod: Pod, old: object, new: object) -> QueueingHint:
            raise self.error

        return [EventRegistration(ClusterEvent(EventResource.NODE, Action.ADD), hint)]


def mute(error: BaseException) -> type[Mute]:
    return type("Mute", (Mute,), {"error": error})


@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_the_fault_takes_the_place_of_the_explanation(error: BaseException) -> None:
    evaluation = evaluate([node("n")], pod("p"), plugins=[mute(error)])
    said = evaluation.plugin_explanations
    for hook, line in (("explain_pod", said.pod["Mute"][0]), ("explain", said.nodes["n"])):
        assert line.startswith(f"no explanation: {type(error).__name__}: no idea (")
        assert line.endswith(f" in {hook})")


@pytest.mark.parametrize("error", FAULTS, ids=repr)
def test_a_hint_that_fails_is_queue(error: BaseException) -> None:
    answer = queueing_hint("Mute", pod("p"), "Node/Add", None, node("n"), plugins=[mute(error)])
    assert isinstance(answer, HintAnswer)
    assert answer.hint == "Queue"
    assert answer.error is not None
    assert answer.error.startswith(f"{type(error).__name__}: no idea (")
    assert answer.error.endswith(" in hint)")
