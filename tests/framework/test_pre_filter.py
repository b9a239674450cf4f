from __future__ import annotations

from typing import Any

import pytest

from schedframe.framework import Code, CycleState, PreFilterOutcome, PreFilterResult, Status
from schedframe.framework.filtering import run_pre_filter

from ..state.build import make_pod
from .fakes import HOPELESS, REJECTED, placeless, plan_of, plugin, table_of

POD = make_pod("p")


def answering(answer: Any, asked: list[str] | None = None, name: str = "") -> Any:
    def pre_filter(self: Any, state: CycleState, pod: Any, nodes: Any) -> Any:
        if asked is not None:
            asked.append(name)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return plugin(pre_filter=pre_filter)


def outcome_of(*answers: Any) -> tuple[PreFilterOutcome, CycleState, list[str]]:
    """The outcome of plugins A, B, …; who was asked."""
    asked: list[str] = []
    names = "ABCDEF"[: len(answers)]
    plan = plan_of(
        **{name: answering(answer, asked, name) for name, answer in zip(names, answers, strict=True)}
    )
    state = CycleState()
    return run_pre_filter(plan, state, POD, table_of(3).rows()), state, asked


def named(*names: str) -> PreFilterResult:
    return PreFilterResult(frozenset(names))


def test_nothing_said() -> None:
    outcome, state, asked = outcome_of(None, Status())
    assert outcome == PreFilterOutcome()
    assert outcome.absent_status is None
    assert asked == ["A", "B"]
    assert state.skip_filter_plugins == set()


def test_plugins_get_state_pod_and_rows() -> None:
    seen: list[Any] = []
    plan = plan_of(A=plugin(pre_filter=lambda self, state, pod, nodes: seen.extend((state, pod, nodes))))
    state, rows = CycleState(), table_of(2).rows()
    run_pre_filter(plan, state, POD, rows)
    assert seen == [state, POD, rows]


def test_skip_leaves_the_filter_out_and_goes_on() -> None:
    outcome, state, asked = outcome_of(Status.skip(), None, Status.skip())
    assert outcome.status is None
    assert state.skip_filter_plugins == {"A", "C"}
    assert asked == ["A", "B", "C"]


def test_one_plugin_names_nodes() -> None:
    outcome, _, _ = outcome_of(None, named("n1", "n2"))
    assert outcome == PreFilterOutcome(None, frozenset({"n1", "n2"}), frozenset({"B"}))
    absent = outcome.absent_status
    assert absent is not None
    assert absent.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert (absent.message, absent.plugin) == ("node(s) didn't satisfy plugin(s) [B]", "")


def test_several_plugins_name_nodes() -> None:
    outcome, _, _ = outcome_of(named("n1", "n2"), named("n2", "n3"))
    assert outcome.node_names == {"n2"}
    assert outcome.absent_status is not None
    assert outcome.absent_status.message == "node(s) didn't satisfy plugin(s) [A B]"


def test_one_plugin_names_no_node_at_all() -> None:
    outcome, _, asked = outcome_of(None, named(), None)
    assert outcome.status == Status.unresolvable("node(s) didn't satisfy plugin B")
    assert (outcome.node_names, outcome.plugins) == (frozenset(), {"B"})
    assert asked == ["A", "B"]


def test_plugins_that_agree_on_no_node() -> None:
    outcome, _, asked = outcome_of(named("n2"), None, named("n1"), None)
    assert outcome.status == Status.unresolvable("node(s) didn't satisfy plugin(s) [A C] simultaneously")
    assert outcome.plugins == {"A", "C"}
    assert asked == ["A", "B", "C"]


def test_a_hopeless_rejection_ends_the_point() -> None:
    outcome, _, asked = outcome_of(None, HOPELESS, None)
    assert outcome == PreFilterOutcome(HOPELESS.with_plugin("B"))
    assert asked == ["A", "B"]


def test_after_a_rejection_that_preemption_may_help_the_others_are_asked_too() -> None:
    outcome, state, asked = outcome_of(REJECTED, named("n1"), Status.skip())
    assert outcome == PreFilterOutcome(REJECTED.with_plugin("A"), frozenset({"n1"}), frozenset({"B"}))
    assert asked == ["A", "B", "C"]
    assert state.skip_filter_plugins == {"C"}


def test_a_later_hopeless_rejection_wins() -> None:
    outcome, _, _ = outcome_of(REJECTED, HOPELESS)
    assert outcome.status == HOPELESS.with_plugin("B")


def test_of_several_rejections_that_preemption_may_help_the_last_counts() -> None:
    outcome, _, _ = outcome_of(REJECTED, Status.unschedulable("either"))
    assert outcome.status == Status.unschedulable("either").with_plugin("B")


def test_an_error_ends_the_point_even_after_a_rejection() -> None:
    outcome, _, asked = outcome_of(REJECTED, Status.from_error("broken"), None)
    assert outcome.status == Status(Code.ERROR, ('running PreFilter plugin "B": broken',), "B")
    assert asked == ["A", "B"]


def test_an_exception_is_an_error_of_its_plugin_and_is_kept() -> None:
    error = ValueError("broken")
    outcome, _, asked = outcome_of(None, error, None)
    assert outcome.status is not None
    text = 'running PreFilter plugin "B": ValueError: broken'
    assert placeless(outcome.status) == Status(Code.ERROR, (text,), "B")
    assert outcome.status.error is error
    assert asked == ["A", "B"]


def test_an_exception_without_a_text_is_known_by_its_type_and_kept() -> None:
    error = KeyError()
    outcome, _, _ = outcome_of(error)
    assert outcome.status is not None
    assert outcome.status.message.startswith('running PreFilter plugin "A": KeyError (pod ')
    assert outcome.status.error is error


@pytest.mark.parametrize("answer", [5, "n1", {"n1"}, True, (None, None)])
def test_invalid_answer(answer: Any) -> None:
    outcome, _, _ = outcome_of(answer)
    assert outcome.status is not None
    assert outcome.status.code is Code.ERROR
    assert outcome.status.plugin == "A"
    assert f"plugin A answered {answer!r} at pre_filter; return None, a Status or a" in outcome.status.message


def test_a_status_that_has_no_place_here_is_an_error() -> None:
    outcome, _, _ = outcome_of(Status.wait(1.0))
    assert outcome.status is not None
    assert (outcome.status.code, outcome.status.plugin) == (Code.ERROR, "A")
    assert outcome.status.message == 'running PreFilter plugin "A": Wait'


def test_pending_is_an_error_as_in_the_reference() -> None:
    outcome, _, asked = outcome_of(Status.pending("later"), None)
    assert outcome.status == Status(Code.ERROR, ('running PreFilter plugin "A": later',), "A")
    assert asked == ["A"]


def test_node_names_may_come_in_any_collection_but_not_as_one_string() -> None:
    assert PreFilterResult(["a", "b"]).node_names == {"a", "b"}  # type: ignore[arg-type]  # converted
    with pytest.raises(TypeError, match="node_names is the string 'a'; give a collection"):
        PreFilterResult("a")  # type: ignore[arg-type]  # that is the point
