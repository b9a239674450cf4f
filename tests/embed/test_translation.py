"""What tasks and workers become, and how reasons read."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import InputError, Pod, load_config
from schedframe.embed import (
    Affinity,
    AntiAffinity,
    Limits,
    Requirements,
    Spread,
    Task,
    Translator,
    Worker,
    configuration,
)
from schedframe.embed.translation import failure_text, in_words_of_tasks


def pod(**needs: Any) -> Pod:
    return Translator().task_to_pod(Task("t", {"gpu": 1}), Requirements(**needs))


def test_a_task_asks_for_its_requests_and_nothing_else() -> None:
    made = Translator().task_to_pod(Task("a b/(c)", {"gpu": 0.5, "cpu": 2}, {"app": "x"}))
    assert (made.name, made.labels, made.requests) == (
        "a b/(c)",
        {"app": "x"},
        {"embed/gpu": 500, "cpu": 2000},
    )
    assert made.spec.affinity is None
    assert made == Translator().task_to_pod(
        Task("a b/(c)", {"gpu": 0.5, "cpu": 2}, {"app": "x"}), Requirements()
    )


def test_a_worker_offers_its_capacity() -> None:
    node = Translator().worker_to_node(Worker("tcp://1.2.3.4:5", {"slots": 3}, {"zone": "a"}))
    assert node.allocatable["embed/slots"] == 3000
    assert node.allocatable["pods"] > 10**9
    assert node.labels["zone"] == "a"
    assert not node.spec.unschedulable


def test_limits() -> None:
    limits = Limits(max_tasks=2, closed=True, reserved={"gpu work", "b"})
    node = Translator().worker_to_node(Worker("w"), limits)
    assert node.allocatable["pods"] == 2
    assert node.spec.unschedulable
    accepting = pod(accepts={"gpu work", "b"})
    kept = [t for t in node.spec.taints if not any(x.tolerates(t) for x in accepting.spec.tolerations)]
    assert [taint.key for taint in kept] == ["node.kubernetes.io/unschedulable"]


def test_named_workers_are_alternatives_with_the_same_conditions() -> None:
    affinity = pod(workers={"w1", "w2"}, on={"disk": ("ssd", "nvme")}, not_on={"spot": "yes"}).spec.affinity
    assert affinity is not None
    assert affinity.node_affinity is not None
    assert affinity.node_affinity.required is not None
    one, other = affinity.node_affinity.required.terms
    assert one.match_expressions == other.match_expressions
    assert [req.values for term in (one, other) for req in term.match_fields] == [("w1",), ("w2",)]
    assert [(req.key, req.operator, req.values) for req in one.match_expressions] == [
        ("disk", "In", ("nvme", "ssd")),
        ("spot", "NotIn", ("yes",)),
    ]


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: Requirements(on={"a/b/c": "x"}), "on['a/b/c']"),
        (lambda: Requirements(prefers={"zone": "no spaces"}), "prefers['zone']"),
        (lambda: Requirements(not_on={"zone": ()}), "not_on['zone']"),
        (lambda: Requirements(priority=2**31), "priority"),
        (lambda: Spread(max_skew=0), "max_skew"),
        (lambda: Spread(by="no spaces"), "by"),
        (lambda: AntiAffinity({"": "x"}), "among['']"),
        (lambda: Affinity({"app": "x"}, by="-"), "by"),
        (lambda: Limits(max_tasks=-1), "max_tasks"),
        (lambda: Translator().task_to_pod(Task("", {})), "key"),
        (lambda: Translator().worker_to_node(Worker(7)), "key"),  # type: ignore[arg-type]  # what is refused
    ],
)
def test_mistakes_are_named_where_they_are_made(make: Any, path: str) -> None:
    with pytest.raises(InputError) as refused:
        make()
    assert refused.value.path == path
    assert refused.value.fix


@pytest.mark.parametrize(
    ("core", "shown"),
    [
        ("Insufficient embed/gpu", "Insufficient gpu"),
        ("Insufficient cpu", "Insufficient cpu"),
        ("Too many pods", "Too many tasks"),
        (
            "node(s) had untolerated taint(s)",
            "worker(s) had reservations that the task does not accept",
        ),
        (
            "node(s) didn't match Pod's node affinity/selector",
            "worker(s) didn't match Task's worker affinity/selector",
        ),
        ("a podium on the nodelet stays", "a podium on the nodelet stays"),
    ],
)
def test_reasons_speak_of_tasks_and_workers(core: str, shown: str) -> None:
    assert in_words_of_tasks(core) == shown


def test_a_sentence_counts_workers() -> None:
    assert failure_text({"b": 1, "a": 2}, 3) == "0 of 3 workers can take it: 2 a, 1 b"
    assert failure_text({}, 0, "and more") == "0 of 0 workers can take it. and more"


def test_configurations_can_be_joined_and_are_accepted() -> None:
    document = configuration({"gpu": 3, "cpu": 1}, strategy="pack", preemption=True, name="pack")
    document["profiles"] += configuration(("gpu",), name="spread", preemption=True)["profiles"]
    config = load_config(document)
    assert [profile.scheduler_name for profile in config.profiles] == ["pack", "spread"]
    assert ("DefaultPreemption", 0) in [(name, 0) for name, _ in config.profiles[0].plugins["postFilter"]]
