"""Errors survive a copy and the way between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

from schedframe.api import UnknownKindError
from schedframe.errors import InputError


@pytest.mark.parametrize("cls", [InputError, UnknownKindError])
def test_an_input_error_is_copied_and_pickled_with_its_parts(cls: type[InputError]) -> None:
    error = cls("spec.priority", "5 is text", "leave out the quotes", location="pods.yaml:2")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is cls
        assert (other.path, other.problem, other.fix) == (error.path, error.problem, error.fix)
        assert other.location == error.location
        assert str(other) == str(error)
