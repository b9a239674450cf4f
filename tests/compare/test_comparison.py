"""Two runs compared: pods, measures, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from schedframe import InputError
from schedframe.compare import compare
from schedframe.runs import Run, RunEvent, RunRecorder, read_run
from tests.runs.worlds import SECOND, make_trace


def record(nodes: list[int], delay: int = 1, pods: int = 4) -> Run:
    """Return a run of pods that get these nodes; the second one is preempted once in a slower run."""
    recorder = RunRecorder(make_trace(pods))
    for node in range(3):
        recorder.node(0, node, RunEvent.NODE_JOINED)
    for pod in range(len(nodes)):
        recorder.submitted(pod * SECOND, pod)
    for pod, node in enumerate(nodes):
        recorder.started((10 + pod * delay) * SECOND, pod, node)
    if delay > 1:
        recorder.evicted(90 * SECOND, 1, RunEvent.PREEMPTED)
        recorder.waited_for(1, "Fit")
    recorder.ended(99 * SECOND, 0)
    return recorder.finish(100 * SECOND)


BASE, OTHER = record([0, 1, 2]), record([0, 2, 2], delay=2)


def test_pods_that_differ_are_in_the_order_of_time() -> None:
    comparison = compare(BASE, OTHER)
    assert not comparison.is_equal
    assert (comparison.same, comparison.only_a, comparison.only_b) == (1, 0, 0)
    table = comparison.pods
    assert table["pod"].tolist() == [1, 2]
    assert table.decoded("node_a") == ["n1", "n2"]
    assert table.decoded("node_b") == ["n2", "n2"]
    assert table["wait_change"].tolist() == [SECOND, 2 * SECOND]
    assert table.decoded("state_b") == ["waiting", "running"]
    assert table.decoded("waited_for_b") == ["Fit", None]
    assert table["evictions_b"].tolist() == [1, 0]
    rows = {row[0]: row for row in comparison._table().rows}
    assert rows["evictions"][1:5] == (0.0, 1.0, 1.0, None)
    assert rows["wait_max"][4] == 12 / 10
    assert "wait_p99" in str(comparison)


def test_a_run_equals_itself() -> None:
    comparison = compare(BASE, record([0, 1, 2]))
    assert comparison.is_equal
    assert len(comparison.pods) == 0
    assert comparison.same == 3


def test_pods_of_one_run_are_counted() -> None:
    comparison = compare(BASE, record([0, 1]))
    assert (comparison.same, comparison.only_a, comparison.only_b) == (2, 1, 0)


def test_runs_of_two_traces_are_refused() -> None:
    other = record([0, 1, 2])
    renamed = other.pods.with_columns(name=np.array([b"p0", b"x", b"p2"]))
    saved = Stand(other, renamed)
    with pytest.raises(InputError, match="pod 1 is p1 in one run and x in the other"):
        compare(BASE, saved)


class Stand:
    """A run with another table of pods."""

    def __init__(self, run: Run, pods: object) -> None:
        self.pods, self.summary, self.digest = pods, run.summary, run.digest


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_run_that_was_read_again_compares_as_before(format: str, tmp_path: Path) -> None:
    OTHER.write(tmp_path, format)  # type: ignore[arg-type]  # one of three texts
    saved = read_run(tmp_path)
    assert compare(OTHER, saved).is_equal
    assert len(compare(OTHER, saved).pods) == 0
    assert list(saved.pods.rows()) == list(OTHER.pods.rows())
    assert compare(BASE, saved).pods["pod"].tolist() == [1, 2]
    assert dict(saved.summary.values) == dict(OTHER.summary.values)


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"summary\.json: cannot be read: No such file"):
        read_run(tmp_path)
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(InputError, match="is no summary of a run: 'end'"):
        read_run(tmp_path)
    BASE.write(tmp_path)
    (tmp_path / "pods.csv").write_text("pod,start\n0,x\n")
    with pytest.raises(InputError, match=r"pods\.csv: start: is no column of a run"):
        read_run(tmp_path)
    (tmp_path / "pods.csv").unlink()
    with pytest.raises(InputError, match="has no table of pods"):
        read_run(tmp_path)
