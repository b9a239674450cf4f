"""InterPodAffinity says which public faults of v1.36 are at work for a pod that it rejects."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe import evaluate
from schedframe.api import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    Pod,
    PodAffinityTerm,
    PodAntiAffinity,
)
from tests.plugins.affinity_world import HOST, far_from, make_node, make_pod, near, term, wants

ALPHA = Namespace(ObjectMeta(name="alpha", labels={"team": "a"}))
BETA = Namespace(ObjectMeta(name="beta", labels={"team": "b"}))


def said(pod: Pod, *others: Any) -> tuple[str, ...]:
    """Return what the plugin says of *pod* as a whole."""
    found = evaluate([make_node("n", zone="z"), ALPHA, BETA, *others], pod).findings
    return found.get("InterPodAffinity", ())


def avoids(*terms: PodAffinityTerm) -> Affinity:
    return Affinity(pod_anti_affinity=PodAntiAffinity(terms))


def selecting(operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement("team", operator, values),))


@pytest.mark.parametrize(
    ("selector", "text"),
    [(selecting("NotIn", "a"), "team notin (a)"), (selecting("DoesNotExist"), "!team")],
)
def test_a_namespace_selector_that_excludes_nothing_is_said(selector: LabelSelector, text: str) -> None:
    other = make_pod("other", "n", namespace="alpha", app="web")
    pod = make_pod("p", namespace="alpha", affinity=avoids(term("web", HOST, namespace_selector=selector)))
    line = said(pod, other)[0]
    assert line.startswith(f"as in kube-scheduler v1.36, the namespaceSelector {text} excludes no namespace")
    assert "pods of alpha" in line


def test_changes_that_do_not_wake_the_pod_are_said() -> None:
    by_team = term("web", HOST, namespace_selector=selecting("In", "a"))
    (line,) = said(make_pod("p", affinity=wants(by_team)))
    assert "when pods change that a namespaceSelector of it selects" in line
    other = make_pod("other", "n", app="web")
    (line,) = said(make_pod("p", affinity=far_from("web", "db", key=HOST)), other)
    assert "that not all of its anti-affinity terms match" in line
    away = [make_node("m"), make_pod("other", "m", app="web")]
    (line,) = said(make_pod("p", affinity=near("web", key=HOST), app="web"), *away)
    assert "when the last pod goes that its affinity needs" in line


def test_nothing_is_said_of_pods_that_no_fault_concerns() -> None:
    other = make_pod("other", "n", app="web")
    assert said(make_pod("p", affinity=near("db", key=HOST))) == ()
    assert said(make_pod("p", affinity=far_from("web", key=HOST)), other) == ()
    everywhere = term("web", HOST, namespace_selector=LabelSelector())
    assert said(make_pod("p", affinity=avoids(everywhere)), other) == ()
    assert said(make_pod("p", affinity=far_from("db", "cache", key=HOST)), other) == ()
