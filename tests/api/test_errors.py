"""Errors of manifests: copies, the way between processes, and all of them at once."""

from __future__ import annotations

import copy
import pickle

import pytest

from schedframe.api import UnknownKindError, from_manifest
from schedframe.errors import InputError, InputErrors


@pytest.mark.parametrize("cls", [InputError, UnknownKindError])
def test_an_input_error_is_copied_and_pickled_with_its_parts(cls: type[InputError]) -> None:
    error = cls("spec.priority", "5 is text", "leave out the quotes", location="pods.yaml:2")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is cls
        assert (other.path, other.problem, other.fix) == (error.path, error.problem, error.fix)
        assert other.location == error.location
        assert str(other) == str(error)


def test_all_wrong_types_of_a_manifest_are_reported_at_once() -> None:
    spec = {"priority": "high", "containers": [{"name": 1}, {"name": "b", "ports": {}}]}
    with pytest.raises(InputErrors) as caught:
        from_manifest({"kind": "Pod", "apiVersion": "v1", "metadata": {}, "spec": spec}, strict=False)
    assert [each.path for each in caught.value.errors] == [
        "spec.priority",
        "spec.containers[0].name",
        "spec.containers[1].ports",
    ]
