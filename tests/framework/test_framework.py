"""Framework: how it is built, and how the points up to post_filter treat what plugins answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from attrs import define, field, frozen

from schedframe._base.checked import unchecked
from schedframe.config import PluginCatalogue
from schedframe.errors import PluginError
from schedframe.framework import (
    Code,
    CycleState,
    Diagnosis,
    Framework,
    NominatingInfo,
    PostFilterResult,
    Registry,
    Status,
    Verdicts,
    hookimpl,
)
from schedframe.queue import Action, ClusterEvent, EventRegistration, EventResource
from schedframe.state import Rows

from .answering import POD, STATE, answering
from .fakes import HOPELESS, REJECTED, SORT, FakeHandle, framework_of, placeless, plugin, profile_of, table_of

# ---- pre_enqueue -------------------------------------------------------------------------------------------


def test_the_first_gate_that_is_closed_counts() -> None:
    asked: list[str] = []
    framework = answering("pre_enqueue", None, Status(), HOPELESS, REJECTED, asked=asked)
    assert framework.run_pre_enqueue(POD) == HOPELESS.with_plugin("C")
    assert asked == ["A", "B", "C"]
    assert answering("pre_enqueue", None).run_pre_enqueue(POD) is None
    assert framework_of().run_pre_enqueue(POD) is None


@pytest.mark.parametrize("answer", [5, True, "no", Status.skip(), Status.wait(5.0)])
def test_invalid_answer_of_a_gate(answer: Any) -> None:
    status = answering("pre_enqueue", answer).run_pre_enqueue(POD)
    assert status is not None
    assert (status.code, status.plugin) == (Code.ERROR, "A")
    assert f"plugin A answered {answer!r:.200} at pre_enqueue" in status.message


def test_a_gate_that_fails() -> None:
    error = ValueError("no")
    status = answering("pre_enqueue", error).run_pre_enqueue(POD)
    assert status is not None
    assert placeless(status) == Status(Code.ERROR, ('running PreEnqueue plugin "A": ValueError: no',), "A")
    assert status.error is error


# ---- events ------------------------------------------------------------------------------------------------


def test_events_that_plugins_registered() -> None:
    registration = EventRegistration(ClusterEvent("Node", Action.ADD))
    framework = framework_of(
        A=plugin(events_to_register=lambda self: [registration]),
        B=plugin(events_to_register=lambda self: []),
        C=plugin(filter=lambda self: None),
    )
    assert framework.events() == {"A": (registration,), "B": (), "C": None, "Sort": None}


def test_a_plugin_that_cannot_say_its_events() -> None:
    for answer in (ValueError("no"), 5):
        with pytest.raises(PluginError, match="plugin A failed in events_to_register"):
            answering("events_to_register", answer).events()


@pytest.mark.parametrize(
    "answer",
    [
        "Node/Add",
        ["Node/Add"],
        [ClusterEvent(EventResource.NODE, Action.ADD)],
        [unchecked(EventRegistration)("Node")],
        [unchecked(EventRegistration)(ClusterEvent(EventResource.NODE, Action.ADD), 5)],
        None,
    ],
)
def test_events_that_are_none_are_a_fault_of_the_plugin(answer: Any) -> None:
    """A scheduler with such a plugin used to end with an AttributeError that named nothing."""
    with pytest.raises(PluginError, match=r"events_to_register: it answered .*; return a list of"):
        answering("events_to_register", answer).events()


def test_plugins_that_can_turn_a_pod_down() -> None:
    framework = framework_of(
        A=plugin(filter=lambda self: None),
        B=plugin(score=lambda self: 1),
        C=plugin(permit=lambda self: None),
        D=plugin(post_bind=lambda self: None),
    )
    assert framework.rejecting_plugins() == {"A", "C"}


# ---- filter ------------------------------------------------------------------------------------------------


def test_all_filters_are_asked_even_after_a_rejection() -> None:
    handle = FakeHandle(table_of(1))
    framework = framework_of(
        handle,
        A=plugin(filter=lambda self: REJECTED),
        B=plugin(filter=lambda self: None),
        C=plugin(filter=lambda self: HOPELESS),
        D=plugin(filter=lambda self: HOPELESS),
    )
    state = CycleState()
    state.skip_filter_plugins.add("D")
    info = handle.table.info(0)
    assert framework.run_all_filters(state, POD, info) == {
        "A": REJECTED.with_plugin("A"),
        "B": Status(),
        "C": HOPELESS.with_plugin("C"),
    }
    assert framework.run_filters(state, POD, info) == REJECTED.with_plugin("A")


def test_pre_filter_looks_at_all_rows_unless_others_are_given() -> None:
    seen: list[list[str]] = []
    handle = FakeHandle(table_of(3))
    framework = framework_of(handle, A=plugin(pre_filter=lambda self, nodes: seen.append(nodes.names())))
    framework.run_pre_filter(CycleState(), POD)
    framework.run_pre_filter(CycleState(), POD, Rows.at(handle.table, np.array([1])))
    assert seen == [["n0", "n1", "n2"], ["n1"]]


# ---- post_filter -------------------------------------------------------------------------------------------

N1, N2 = (PostFilterResult(NominatingInfo(name)) for name in ("n1", "n2"))
CLEARED, SILENT = PostFilterResult(NominatingInfo("")), PostFilterResult(NominatingInfo(None))


def post_filtered(*answers: Any) -> tuple[PostFilterResult | None, Status, list[str]]:
    asked: list[str] = []
    framework = answering("post_filter", *answers, asked=asked)
    diagnosis = Diagnosis(Verdicts.passing_all(table_of(1).rows()), 1)
    return (*framework.run_post_filter(STATE, POD, diagnosis), asked)


@pytest.mark.parametrize("answer", [N1, (N1, None), (N1, Status())])
def test_success_ends_the_point(answer: Any) -> None:
    assert post_filtered(REJECTED, answer, None) == (N1, Status().with_plugin("B"), ["A", "B"])


def test_a_hopeless_rejection_ends_it_too_and_keeps_its_result() -> None:
    assert post_filtered((CLEARED, HOPELESS), N1) == (CLEARED, HOPELESS.with_plugin("A"), ["A"])


def test_rejections_add_up_and_the_first_plugin_is_blamed() -> None:
    found, status, asked = post_filtered(
        None, Status.unschedulable("one"), Status.unschedulable("two", "three")
    )
    assert found is None
    assert status == Status.unschedulable("one", "two", "three").with_plugin("A")
    assert asked == ["A", "B", "C"]


def test_the_last_result_that_says_something_is_kept() -> None:
    assert (
        post_filtered((N1, REJECTED), (N2, REJECTED), (SILENT, REJECTED), (PostFilterResult(), REJECTED))[0]
        is N2
    )
    assert post_filtered((N1, REJECTED), (CLEARED, REJECTED))[0] is CLEARED


def test_without_plugins_nothing_is_made() -> None:
    assert post_filtered() == (None, Status.unschedulable(), [])


def test_an_error_of_post_filter_ends_it() -> None:
    error = ValueError("no")
    for answer in (error, Status.from_error(error), (N1, Status.from_error(error))):
        found, status, asked = post_filtered((N1, REJECTED), answer, None)
        assert found is None
        text = "ValueError: no" if answer is error else "no"
        assert placeless(status) == Status(Code.ERROR, (text,), "B")
        assert status.error is error
        assert asked == ["A", "B"]


@pytest.mark.parametrize(
    "answer",
    [5, "n1", (N1,), (N1, None, None), ("n1", None), (None, "no"), Status.skip(), (N1, Status.wait(1.0))],
)
def test_invalid_answer_of_post_filter(answer: Any) -> None:
    found, status, _ = post_filtered(answer, N1)
    assert found is None
    assert (status.code, status.plugin) == (Code.ERROR, "A")
    assert "at post_filter; return (PostFilterResult | None, Status)" in status.message


def test_post_filter_gets_the_statuses_of_the_nodes() -> None:
    seen: list[Mapping[str, Status]] = []
    framework = framework_of(A=plugin(post_filter=lambda self, statuses: seen.append(statuses)))
    verdicts = Verdicts.passing_all(table_of(2).rows())
    verdicts.reject(1, REJECTED)
    framework.run_post_filter(STATE, POD, Diagnosis(verdicts, 2))
    assert dict(seen[0]) == {"n1": REJECTED}


# ---- building ----------------------------------------------------------------------------------------------


@frozen
class LimitArgs:
    limit: int = 0


@define(eq=False)
class Limit:
    args: LimitArgs
    handle: Any

    @hookimpl
    def score(self) -> int:
        return self.args.limit


@define(eq=False)
class ByKeyword:
    handle: Any = field(kw_only=True)
    args: Any = field(kw_only=True)

    @hookimpl
    def filter(self) -> Status | None:
        return self.args


@define(eq=False)
class Bare:
    @hookimpl
    def filter(self) -> None: ...


@define(eq=False)
class Demanding:
    handle: Any
    more: int

    @hookimpl
    def filter(self) -> None: ...


def build(
    enabled: dict[str, list[tuple[str, int]]], args: dict[str, Any] | None = None, **factories: Any
) -> Framework:
    registry = Registry(PluginCatalogue())
    registry.register("Sort", lambda args, handle: SORT)
    for name, factory in factories.items():
        registry.register(name, factory)
    handle: Any = FakeHandle(table_of(1))
    return Framework.build(profile_of({"queueSort": [("Sort", 0)], **enabled}, args), registry, handle)


def test_plugins_are_made_with_args_and_handle() -> None:
    framework = build(
        {"score": [("Limit", 2)], "filter": [("ByKeyword", 0), ("Bare", 0), ("Missing", 0)]},
        {"Limit": LimitArgs(21), "ByKeyword": REJECTED},
        Limit=Limit,
        ByKeyword=ByKeyword,
        Bare=Bare,
    )
    limit = framework.plugin("Limit")
    assert limit is not None
    assert limit.handle is framework.handle
    assert framework.plugin("Missing") is None
    assert framework.profile_name == "default-scheduler"
    table = framework.handle.table
    assert framework.run_filters(CycleState(), POD, table.info(0)) == REJECTED.with_plugin("ByKeyword")
    scores = framework.run_scores(CycleState(), POD, table.rows())
    assert not isinstance(scores, Status)
    assert scores.total.tolist() == [42]


def test_a_function_makes_a_plugin_from_args_and_handle() -> None:
    made: list[Any] = []

    def make(args: Any, handle: Any) -> Any:
        made.append((args, handle))
        return Bare()

    framework = build({"filter": [("Made", 0)]}, {"Made": 5}, Made=make)
    assert made == [(5, framework.handle)]


def test_a_plugin_that_cannot_be_made_names_profile_and_cause() -> None:
    with pytest.raises(PluginError, match="plugin Limit cannot be made: ") as caught:
        build({"filter": [("Limit", 0)]}, Limit=Demanding)
    assert isinstance(caught.value.__cause__, TypeError)


def test_what_a_function_made_is_checked() -> None:
    with pytest.raises(PluginError, match=r"plugin Odd: Fake\.filters is no extension point"):
        build({"filter": [("Odd", 0)]}, Odd=lambda args, handle: plugin(filters=lambda self: None))
