"""Which pods' removal violates which budget."""

from __future__ import annotations

import logging

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Pod
from schedframe.api import LabelSelector, LabelSelectorRequirement, PodDisruptionBudget
from schedframe.framework.preemption import read_budgets, split_by_budgets

from .support import budget, running

WEB = {"app": "web"}


def violating(pods: list[Pod], *budgets: PodDisruptionBudget) -> str:
    """Names of the pods that violate, in order."""
    return "".join(pod.name for pod in split_by_budgets(pods, read_budgets(budgets))[0])


def web(*names: str) -> list[Pod]:
    return [running(name, labels=WEB) for name in names]


def test_as_many_as_are_allowed_go_without_violation() -> None:
    pods = web("a", "b", "c")
    assert violating(pods, budget(allowed=3, labels=WEB)) == ""
    assert violating(pods, budget(allowed=2, labels=WEB)) == "c"
    assert violating(pods, budget(allowed=0, labels=WEB)) == "abc"
    assert violating(pods, budget(allowed=-1, labels=WEB)) == "abc"


def test_both_parts_keep_the_order() -> None:
    pods = [running("a"), *web("b", "c"), running("d"), *web("e")]
    first, second = split_by_budgets(pods, read_budgets([budget(allowed=1, labels=WEB)]))
    assert [pod.name for pod in first] == ["c", "e"]
    assert [pod.name for pod in second] == ["a", "b", "d"]


def test_a_pod_in_disrupted_pods_uses_up_nothing() -> None:
    pods = web("a", "b")
    assert violating(pods, budget(allowed=1, labels=WEB, disrupted=("a",))) == ""
    assert violating(pods, budget(allowed=0, labels=WEB, disrupted=("a",))) == "b"


def test_one_of_several_budgets_is_enough_and_all_are_used_up() -> None:
    wide, narrow = budget("wide", allowed=2, labels=WEB), budget("narrow", allowed=0, labels={"tier": "1"})
    pods = [running("a", labels=WEB | {"tier": "1"}), *web("b", "c")]
    # What violates the narrow one takes from the wide one all the same.
    assert violating(pods, wide, narrow) == "ac"
    assert violating(pods, narrow, wide) == "ac"


@pytest.mark.parametrize(
    "one",
    [
        budget(selector=None),
        budget(selector=LabelSelector()),
        budget(labels={"app": "db"}),
        budget(labels=WEB, namespace="elsewhere"),
    ],
    ids=["no selector", "empty selector", "other labels", "other namespace"],
)
def test_a_budget_that_covers_no_pod(one: PodDisruptionBudget) -> None:
    assert violating(web("a"), one) == ""


def test_a_pod_without_labels_has_no_budget() -> None:
    every_pod = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "DoesNotExist"),))
    assert violating([running("a")], budget(selector=every_pod)) == ""
    assert violating([running("a", labels={"b": "c"})], budget(selector=every_pod)) == "a"


def test_a_selector_that_cannot_be_understood_covers_no_pod(caplog: pytest.LogCaptureFixture) -> None:
    broken = LabelSelector(match_expressions=(LabelSelectorRequirement("app", "Like", ("web",)),))
    with caplog.at_level(logging.WARNING, "schedframe"):
        assert violating(web("a"), budget("odd", selector=broken), budget(labels=WEB)) == "a"
    assert "budget default/odd covers no pods" in caplog.text
    assert "'Like'" in caplog.text


@given(
    st.lists(st.sampled_from(["", "x", "y", "xy"]), max_size=6),
    st.lists(st.tuples(st.sampled_from("xy"), st.integers(-1, 3), st.sets(st.integers(0, 5))), max_size=3),
)
def test_every_pod_is_in_one_part_and_counts_are_those_of_a_ledger(
    labels: list[str], given_budgets: list[tuple[str, int, set[int]]]
) -> None:
    pods = [running(str(i), labels=dict.fromkeys(letters, "1")) for i, letters in enumerate(labels)]
    budgets = [
        evolve(budget(f"b{i}", allowed, {letter: "1"}, disrupted=tuple(map(str, gone))))
        for i, (letter, allowed, gone) in enumerate(given_budgets)
    ]
    ledger = [allowed for _, allowed, _ in given_budgets]
    expected = ""
    for i, letters in enumerate(labels):
        concerned = [
            b for b, (letter, _, gone) in enumerate(given_budgets) if letter in letters and i not in gone
        ]
        for b in concerned:
            ledger[b] -= 1
        if any(ledger[b] < 0 for b in concerned):
            expected += str(i)
    assert violating(pods, *budgets) == expected
