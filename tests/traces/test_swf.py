"""The Standard Workload Format: −1 in every field, statuses, sizes of jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from schedframe import InputError
from schedframe.traces import read_swf

HEAD = "; Version: 2.2\n; UnixStartTime: 1000000000\n; MaxProcs: 128\n; MaxNodes: 32\n\n"
JOBS = """\
 1  0  5  100  4 -1 -1  8 200 512 1  3 1 1 1 1 -1 -1
 2 10 -1    0  4 -1 -1 -1  -1  -1 1 -1 1 1 1 1 -1 -1
 3 20 -1  300 10 -1 -1 10 200  -1 0  3 1 1 1 1  1 60
 4 30 -1   -1 -1 -1 -1  2  60  -1 5  4 1 1 1 1 -1 -1
 5 40 -1   50  2 -1 -1  2  60  -1 2  4 1 1 1 1 -1 -1
 5 40 -1   50  2 -1 -1  2  60  -1 4  4 1 1 1 1 -1 -1
 6 50 -1   -1  2 -1 -1  2  60  -1 1  4 1 1 1 1 -1 -1
 7 60 -1   70 -1 -1 -1 -1  60  -1 1  4 1 1 1 1 -1 -1
 8 70 -1   70  1 -1 -1  1  60  -1 5  4 1 1 1 1 -1 -1
"""
SECOND = 1_000_000


def write(folder: Path, text: str) -> Path:
    path = folder / "log.swf"
    path.write_text(text)
    return path


def test_jobs_become_pods_of_the_size_of_nodes(tmp_path: Path) -> None:
    trace = read_swf(write(tmp_path, HEAD + JOBS), cores_per_node=4)
    assert trace.epoch == 1_000_000_000
    assert trace.pods.decoded("name") == [
        "job-1-0",
        "job-1-1",
        "job-2",
        *(f"job-3-{i}" for i in range(3)),
        "job-8",
    ]
    cpus = [trace.templates[each].requests["cpu"] for each in trace.pods["template"]]
    assert cpus == [4000, 4000, 4000, 4000, 4000, 2000, 1000]
    assert trace.pods["group"].tolist() == [0, 0, -1, 1, 1, 1, -1]
    assert trace.min_count.tolist() == [2, 3]
    assert trace.pods["run"].tolist() == [100 * SECOND] * 2 + [0] + [300 * SECOND] * 3 + [70 * SECOND]
    assert trace.pods["requested"].tolist()[:3] == [200 * SECOND, 200 * SECOND, -1]
    assert trace.pods.decoded("owner")[:4] == ["3", "3", None, "3"]
    assert len(trace.nodes) == 32
    assert trace.treated == {
        "left out: parts of a job that was checkpointed": 2,
        "left out: cancelled before the start": 1,
        "left out: no run time": 1,
        "left out: no processors": 1,
        "without requested processors: those that were allocated": 1,
        "ran longer than requested": 2,
        "follows another job: recorded submission": 1,
    }


def test_requested_memory_is_for_each_processor(tmp_path: Path) -> None:
    trace = read_swf(write(tmp_path, HEAD + JOBS), cores_per_node=8, memory_per_node=2**33)
    assert trace.templates[trace.pods["template"][0]].requests == {"cpu": 8000, "memory": 8 * 512 * 1024}
    assert trace.capacity() == {"cpu": 128_000, "memory": 16 * 2**33}


@pytest.mark.parametrize(
    ("note", "option", "is_used"),
    [
        ("", "auto", True),
        ("; Note: the requested time is CPU time per processor\n", "auto", False),
        ("; Note: the requested time is CPU time per processor\n", "wall", True),
        ("", "cpu", False),
    ],
)
def test_field_9_is_a_time_on_the_wall_or_of_processors(
    note: str, option: str, is_used: bool, tmp_path: Path
) -> None:
    trace = read_swf(write(tmp_path, note + HEAD + JOBS), cores_per_node=8, requested_time=option)  # type: ignore[arg-type]
    assert (trace.pods["requested"][0] != -1) == is_used


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  0  5  100", "  0  5  x", r"log\.swf:6: run: 'x' is not a number"),
        (" 1 -1 -1\n 2", " 1 -1\n 2", r"log\.swf:6: has 17 fields in place of 18"),
        ("3 20 -1  300", "3 20 -1  -7", r"log\.swf:8: run: '-7' is below"),
        ("MaxProcs: 128", "MaxProcs: many", r"maxprocs: 'many' is not a number"),
    ],
)
def test_faults_name_the_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_swf(write(tmp_path, (HEAD + JOBS).replace(old, new, 1)), cores_per_node=4)
