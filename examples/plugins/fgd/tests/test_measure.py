"""The measure and its gradient, compared with a direct implementation of the definition."""

from __future__ import annotations

from math import exp, isclose

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from schedframe_fgd import TaskType, compile_workload, fragmentation
from schedframe_fgd.measure import IMPOSSIBLE, gains
from schedframe_fgd.plugin import thresholds

PARTS = [0, 100, 230, 470, 500, 810, 1000, 2000, 4000]
tasks = st.builds(
    TaskType,
    cpu_milli=st.sampled_from([0, 1000, 4000, 8000]),
    gpu_milli=st.sampled_from(PARTS),
    models=st.sampled_from([(), ("T4",), ("T4", "G2")]),
    weight=st.integers(1, 9),
)
devices = st.lists(st.sampled_from([0, 190, 300, 530, 1000]), min_size=1, max_size=4)


def wasted(tasks: list[TaskType], free: list[int], cpu: int, model: str) -> int:
    """Return the fragmentation by its definition."""
    total = 0
    for task in tasks:
        part, count = min(task.gpu_milli, 1000), max(1, task.gpu_milli // 1000)
        fits = (
            task.gpu_milli > 0
            and task.cpu_milli <= cpu
            and (not task.models or model in task.models)
            and sum(left >= part for left in free) >= count
        )
        total += task.weight * (sum(left for left in free if left < part) if fits else sum(free))
    return total


def measured(tasks: list[TaskType], free: list[int], cpu: int, model: str) -> int:
    workload = compile_workload(tasks)
    number = np.array([workload.model(model)])
    return int(fragmentation(workload, np.array([free], np.int64), np.array([cpu], np.int64), number)[0])


@given(st.lists(tasks, min_size=1, max_size=6), devices, st.sampled_from([0, 999, 4000, 9000]))
@settings(max_examples=50, deadline=None)
def test_fragmentation_equals_its_definition(tasks: list[TaskType], free: list[int], cpu: int) -> None:
    for model in ("T4", "G2", "other"):
        assert measured(tasks, free, cpu, model) == wasted(tasks, free, cpu, model)


@given(st.lists(tasks, min_size=1, max_size=6), devices, st.sampled_from(PARTS))
@settings(max_examples=50, deadline=None)
def test_a_gain_is_the_difference_of_fragmentation(tasks: list[TaskType], free: list[int], gpu: int) -> None:
    workload, cpu = compile_workload(tasks), 6000
    found = gains(workload, np.array([free]), np.array([cpu]), np.array([workload.model("T4")]), (2000, gpu))[
        0
    ].tolist()
    before = wasted(tasks, free, cpu, "T4")
    if 0 < gpu < 1000:
        for device, left in enumerate(free):
            rest = [*free[:device], left - gpu, *free[device + 1 :]]
            expected = before - wasted(tasks, rest, cpu - 2000, "T4") if left >= gpu else IMPOSSIBLE
            assert found[device] == expected
        return
    idle = [device for device, left in enumerate(free) if left == 1000]
    rest = [0 if device in idle[: gpu // 1000] else left for device, left in enumerate(free)]
    possible = len(idle) >= gpu // 1000
    assert found == [before - wasted(tasks, rest, cpu - 2000, "T4") if possible else IMPOSSIBLE]


def test_all_free_parts_are_fragments_for_a_task_that_cannot_run() -> None:
    assert measured([TaskType(gpu_milli=0)], [1000, 300], 9000, "T4") == 1300
    assert measured([TaskType(cpu_milli=9001, gpu_milli=100)], [1000, 300], 9000, "T4") == 1300
    assert measured([TaskType(gpu_milli=100, models=("G2",))], [1000, 300], 9000, "T4") == 1300
    assert measured([TaskType(gpu_milli=2000)], [1000, 300], 9000, "T4") == 1300


def test_too_full_devices_are_fragments_for_a_task_that_can_run() -> None:
    assert measured([TaskType(gpu_milli=500)], [1000, 300, 500], 9000, "T4") == 300
    assert measured([TaskType(gpu_milli=1000)], [1000, 300, 500], 9000, "T4") == 800


def test_scores_follow_the_sigmoid_and_no_change_is_half_way() -> None:
    bounds = thresholds(total=7, scale=1000)
    assert bounds == sorted(bounds)
    assert len(bounds) == 99
    assert bounds[49] == 0
    for score, bound in enumerate(bounds, start=1):
        assert isclose(100 / (1 + exp(-bound / 7000)), score, abs_tol=0.01)
