"""Required fields, all problems at once, and fields of the next version of Kubernetes."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from schedframe import Simulation
from schedframe.api import UnknownKindError, from_manifest, load_manifests
from schedframe.errors import InputError, InputErrors

CONTAINERS = "containers: [{name: c}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\nmetadata: {name: a}", "line 1: Pod a: spec: is missing or empty"),
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {}",
            "line 3: Pod a: spec.containers: is missing or empty; list at least one container",
        ),
        (
            "kind: Pod\nmetadata: {name: a}\nspec: {containers: []}",
            "line 3: Pod a: spec.containers: is missing",
        ),
        (
            "kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - image: i",
            "line 5: Pod a: spec.containers[0].name: is missing or empty; give it a name",
        ),
        (
            f"kind: Pod\nmetadata: {{}}\nspec: {{{CONTAINERS}}}",
            "line 2: Pod: metadata.name: a Pod has no name",
        ),
        (f"kind: Pod\nspec: {{{CONTAINERS}}}", "line 1: Pod: metadata.name: a Pod has no name"),
        (
            f"kind: Pod\nmetadata: {{name: a}}\nspec:\n  {CONTAINERS}\n  topologySpreadConstraints:\n"
            "  - maxSkew: 1\n    topologyKey: zone",
            "line 6: Pod a: spec.topologySpreadConstraints[0].whenUnsatisfiable: is missing or empty",
        ),
        (
            "kind: Node\nmetadata: {name: a}\nspec:\n  taints: [{key: k}]",
            "line 4: Node a: spec.taints[0].effect: is missing or empty",
        ),
    ],
)
def test_a_missing_field_is_named_with_the_line_of_its_object(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        list(load_manifests(text, required=True))
    assert str(caught.value).startswith(message)
    assert len(caught.value.errors) == 1


def test_a_misspelt_field_is_not_also_missing() -> None:
    (error,) = _errors("kind: Pod\nmetadata: {name: a}\nspec: {container: [{name: c}]}")
    assert error.fix == "did you mean containers?"


def _errors(text: str) -> tuple[InputError, ...]:
    with pytest.raises(InputError) as caught:
        list(load_manifests(text, required=True))
    return caught.value.errors


def test_all_problems_are_in_one_error_and_no_object_follows_the_first() -> None:
    text = """\
kind: Node
metadata: {name: n}
---
kind: Pod
metadata: {name: a}
metadata: {name: a}
spec:
  containers: [{name: c}]
  nodeSelectr: {disk: ssd}
  priority: high
---
kind: Deploymint
---
kind: Node
metadata: {name: m}
---
- 5
"""
    objects = []
    with pytest.raises(InputErrors) as caught:
        objects.extend(load_manifests(text, required=True))
    assert [str(error).partition("; ")[0] for error in caught.value.errors] == [
        "line 6: document 2, Pod a: metadata: the key is there twice, first in line 5",
        "line 9: document 2, Pod a: spec.nodeSelectr: Kubernetes has no such field here",
        "line 10: document 2, Pod a: spec.priority: expected a whole number, got 'high' (text)",
        "line 12: document 3, Deploymint: kind: Kubernetes has no Deploymint",
        "line 17: document 5: expected an object, got a list",
    ]
    assert str(caught.value).splitlines() == [str(error) for error in caught.value.errors]
    assert (caught.value.path, caught.value.location) == ("metadata", "line 6: document 2, Pod a")


def test_an_unreadable_document_comes_after_the_problems_before_it() -> None:
    first, second = _errors("kind: Pod\nmetadata: {name: a}\n---\nkind: {")
    assert first.path == "spec"
    assert second.problem.startswith("cannot be read as YAML")


def test_a_single_problem_keeps_its_class() -> None:
    with pytest.raises(UnknownKindError):
        list(load_manifests("kind: Secret"))


def test_several_errors_survive_a_pickle() -> None:
    with pytest.raises(InputErrors) as caught:
        from_manifest({"kind": "Pod", "metadata": {"name": "A_"}, "spec": {"a": 1}})
    other = pickle.loads(pickle.dumps(caught.value))
    assert (str(other), len(other.errors)) == (str(caught.value), 2)


def test_nothing_is_added_if_one_object_is_wrong() -> None:
    simulation = Simulation()
    good: dict[str, Any] = {"kind": "Node", "metadata": {"name": "n"}}
    with pytest.raises(InputErrors) as caught:
        simulation.add(
            good, {"kind": "Pod", "spec": 5}, {"kind": "Node", "metadata": {"name": "m"}, "spek": {}}
        )
    assert len(caught.value.errors) == 2
    assert not simulation.cluster.list("Node")


def test_python_objects_and_lenient_files_may_be_incomplete() -> None:
    manifest = {"kind": "Pod", "metadata": {"name": "a"}}
    assert from_manifest(manifest).name == "a"
    assert from_manifest(manifest, strict=False, required=True).name == "a"
    problems: list[InputError] = []
    assert from_manifest(manifest, strict=problems.append, required=True).name == "a"
    assert [problem.path for problem in problems] == ["spec"]


def test_fields_of_the_next_version_are_right() -> None:
    spec = {"containers": [{"name": "c"}], "evictionResponders": [{"name": "example.com/r"}]}
    manifest = {"kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    assert from_manifest(manifest).name == "a"
