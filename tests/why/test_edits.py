"""A program can apply what an explanation proposes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe import Simulation, explain
from schedframe.why.edits import json_patch
from tests.profiles import many

from .manifests import Manifest
from .patching import applied
from .test_changes import CASES


@pytest.mark.parametrize("case", CASES)
def test_every_change_can_be_applied_to_the_manifests_and_helps_there(case: str) -> None:
    objects, pending, _, _ = CASES[case]
    found = json.loads(explain(objects, pending).to_json())
    assert found["changes"]
    for change in found["changes"]:
        *others, changed = _with_pending_last(applied([*objects, pending], change["operations"]), pending)
        evaluation = Simulation(others).evaluate(changed)
        assert change["node_then"] in evaluation.best, change["description"]
        assert change["feasible_then"] == len(evaluation.feasible)


def _with_pending_last(manifests: list[Manifest], pending: Manifest) -> list[Manifest]:
    name = pending["metadata"]["name"]
    return sorted(manifests, key=lambda each: each["kind"] == "Pod" and each["metadata"]["name"] == name)


def test_no_edit_leaves_a_field_as_it_was() -> None:
    objects, pending, _, _ = CASES["unbound claim"]
    volume = {
        "kind": "PersistentVolume",
        "metadata": {"name": "pv1"},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
    }
    claim = copy.deepcopy(objects[-1])
    claim["spec"]["volumeName"] = "pv1"
    for change in explain([objects[0], volume, claim], pending).changes:
        assert all(edit.before != edit.after for edit in change.edits), change.description


def test_feasible_nodes_are_counted_and_not_listed() -> None:
    objects, pending, _, _ = CASES["selector"]
    (change, *_) = explain([*objects, *(_named(objects[0], f"m{i}") for i in range(50))], pending).changes
    assert len(change.nodes) == change.to_dict()["feasible_then"] == 51
    assert not {"m7", "m33"} & set(json.dumps(change.to_dict()).split('"'))


def _named(manifest: Manifest, name: str) -> Manifest:
    return {**manifest, "metadata": {"name": name}}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b/c", "d~"]), inner),
    max_leaves=12,
)


@many
@given(VALUES, VALUES)
def test_a_patch_makes_the_document_after_of_the_one_before(before: Any, after: Any) -> None:
    manifest = {"kind": "X", "metadata": {"name": "x"}, "spec": before}
    patch = json_patch({"spec": before}, {"spec": after})
    operation = {
        "action": "patch",
        "kind": "X",
        "name": "x",
        "patch": [each.to_dict() for each in patch],
    }
    (result,) = applied([manifest], [operation])
    assert result["spec"] == after
