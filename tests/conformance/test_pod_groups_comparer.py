"""The comparer of pod groups finds differences, and what is excluded is excluded by name."""

from __future__ import annotations

from typing import Any

import pytest

from . import pod_groups_case
from .corpus import Corpus
from .pod_groups_defects import EVICTS_FOR_NOTHING, EXCLUDED, evicts_for_nothing


def test_what_other_data_would_exclude_is_named_here(bundled: Corpus) -> None:
    cases = [case for family in ("pod_groups", "placements") for case in bundled.cases(family)]
    found = {case["name"] for case in cases if evicts_for_nothing(case)}
    assert found == {name for name, reason in EXCLUDED.items() if reason == EVICTS_FOR_NOTHING}
    assert EXCLUDED.keys() <= {case["name"] for case in cases}


@pytest.mark.parametrize(
    ("field", "value"),
    [("attempts", 7), ("state", "gated"), ("unschedulable_plugins", ["NodePorts"]), ("nominated_node", "n9")],
)
def test_a_wrong_pod_is_found(bundled: Corpus, field: str, value: Any) -> None:
    case = next(case for case in bundled.cases("pod_groups") if case["topic"] == "gang_not_fit")
    assert pod_groups_case.compare(case) == []
    pods = case["expect"][1]["pods"]
    next(pod for pod in pods.values() if pod["state"] != "bound")[field] = value
    (line,) = pod_groups_case.compare(case)
    assert field in line


def test_a_wrong_condition_and_a_wrong_cycle_are_found(bundled: Corpus) -> None:
    case = next(case for case in bundled.cases("pod_groups") if case["topic"] == "gang_fits")
    case["expect"][1]["pod_groups"]["default/g"][0]["status"] = "False"
    case["expect"][1]["cycles"][0]["members"].pop()
    lines = pod_groups_case.compare(case)
    assert any("status" in line for line in lines)
    assert any("members" in line for line in lines)


def test_wrong_scores_of_placements_are_found(bundled: Corpus) -> None:
    cases = bundled.cases("placements")
    case = next(case for case in cases if "placement_totals" in str(case["expect"]))
    for state in case["expect"]:
        for cycle in state.get("cycles", ()):
            for name in cycle.get("placement_totals", {}):
                cycle["placement_totals"][name] += 1
    assert any("placement_totals" in line for line in pod_groups_case.compare(case))


def test_a_pod_that_should_be_gone_is_found(bundled: Corpus) -> None:
    case = next(case for case in bundled.cases("pod_groups") if case["topic"] == "gang_fits")
    del case["expect"][0]["pods"]["default/p1"]
    (line,) = pod_groups_case.compare(case)
    assert "p1" in line


def test_a_pod_that_is_dropped_takes_a_cycle(bundled: Corpus) -> None:
    case = next(case for case in bundled.cases("pod_groups") if case["topic"] == "gang_fits")
    steps = [step for step in case["steps"] if step["op"] == "create"]
    members = [each for step in steps for each in step["objects"] if each["kind"] == "Pod"]
    run = pod_groups_case.Run.of(case)
    for step in steps:
        run.do(step)
    for pod in members:
        metadata = pod["metadata"] | {"deletionTimestamp": "2000-01-01T00:00:10Z"}
        run.do({"op": "update", "object": pod | {"metadata": metadata}})
    run.do({"op": "run"})
    assert run.cycles == [{"group": "default/g", "members": [], "order": []}]
