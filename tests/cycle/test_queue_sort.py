"""A key that cannot be ordered costs its pod the place in the queue, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np
import pytest

from schedframe import Code, QueuedPodInfo

from .build import World, make_node, make_pod, plugin_class

FORMS: dict[str, Callable[[float], Any]] = {
    "a number": lambda value: value,
    "a number of NumPy": np.float64,
    "a tuple": lambda value: (0, value),
    "a tuple of a tuple": lambda value: (0, ("x", value)),
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_is_not_a_number_sorts_last_and_is_a_fault(form: str, first: bool) -> None:
    """NaN is neither less than another key nor greater: a heap with it has no order."""
    values = {"b": 3.0, "c": 1.0, "d": 2.0}
    values = {"a": nan, **values} if first else {**values, "a": nan}

    def key(self: object, pod_info: QueuedPodInfo) -> Any:
        return FORMS[form](values[pod_info.pod.name])

    world = World({"Odd": plugin_class("Odd", queue_sort_key=key)}, only={"queueSort": ["Odd"]})
    world.create(*(make_pod(name) for name in values))
    world.create(make_node("n"))
    tried = []
    while (decision := world.cycle()) is not None:
        tried.append(decision.pod.name)
    assert tried == ["c", "d", "b", "a"]
    assert [(status.code, status.plugin, pod.name) for status, pod in world.faults if pod is not None] == [
        (Code.ERROR, "Odd", "a")
    ]
    assert "queue_sort_key" in world.faults[0][0].message
