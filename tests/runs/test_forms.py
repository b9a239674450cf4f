"""Forms of a run: files, data frames, HTML, pictures; and what the recorder refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from schedframe import InputError, InvariantError
from schedframe.runs import Run, RunEvent, RunRecorder
from schedframe.traces import NodeTemplate

from .worlds import SECOND, make_trace


def record(change: Callable[[RunRecorder], None] = lambda _: None) -> Run:
    """Return a run: one pod ends, one is preempted and waits, one is dropped."""
    recorder = RunRecorder(make_trace(4))
    for node in range(3):
        recorder.node(0, node, RunEvent.NODE_JOINED)
    for pod in range(3):
        recorder.submitted(pod, pod)
    recorder.started(5, 0, 1)
    recorder.started(6, 1, 2)
    recorder.rejected(7, 2)
    recorder.evicted(20, 1, RunEvent.PREEMPTED, kept=4)
    recorder.waited_for(1, "NodeResourcesFit")
    recorder.ended(7 * SECOND, 0)
    change(recorder)
    return recorder.finish(10 * SECOND)


RUN = record()


def test_the_table_of_pods() -> None:
    rows = list(RUN.pods.rows())
    assert [dict(zip(RUN.pods.columns, row, strict=True))["state"] for row in rows] == [
        "ended",
        "waiting",
        "rejected",
    ]
    frame = RUN.pods.to_dataframe()
    assert frame["node"].to_list() == ["n1", "n2", None]
    assert frame["lost"].to_list() == [0, 10, 0]
    assert frame["waited_for"].to_list() == [None, "NodeResourcesFit", None]
    assert frame["owner"].to_list() == [None, "bob", "ann"]
    assert polars.DataFrame(RUN.pods).equals(frame)
    assert "<table>" in RUN._repr_html_()
    assert "wait_p99" in str(RUN)
    assert repr(RUN) == "Run(pods=3, events=11, end='10s')"


def test_files_have_the_decoded_rows(tmp_path: Path) -> None:
    RUN.write(tmp_path / "csv")
    RUN.write(tmp_path / "jsonl", "jsonl")
    RUN.write(tmp_path / "parquet", "parquet")
    for name in ("pods", "nodes", "samples", "events"):
        table = getattr(RUN, name)
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows()]
        lines = (tmp_path / "jsonl" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line) for line in lines] == rows
        with (tmp_path / "csv" / f"{name}.csv").open(newline="") as file:
            texts = [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
            assert list(csv.DictReader(file)) == texts
        assert polars.read_parquet(tmp_path / "parquet" / f"{name}.parquet").to_dicts() == rows
    summary = json.loads((tmp_path / "csv" / "summary.json").read_text())
    assert summary["measures"] == dict(RUN.summary.values)
    assert summary["digest"] == RUN.digest()
    assert summary["kind"] == "RunSummary"
    assert not list((tmp_path / "csv").glob("*.part"))


def test_a_format_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format"):
        RUN.write(tmp_path, "xlsx")  # type: ignore[arg-type]  # that is the test


def test_digests_differ_with_what_happened() -> None:
    assert record().digest() == RUN.digest()
    others = [
        record(lambda each: each.started(8 * SECOND, 1, 0)),
        record(lambda each: each.waited_for(0, "TaintToleration")),
        record(lambda each: each.node(8 * SECOND, 0, RunEvent.NODE_FAILED)),
    ]
    assert len({RUN.digest(), *(each.digest() for each in others)}) == 4


def test_pods_and_nodes_that_the_trace_does_not_have() -> None:
    recorder = RunRecorder(make_trace(2))
    node = recorder.new_node("spot-0", NodeTemplate({"cpu": 4000}, price=2.0))
    recorder.node(0, node, RunEvent.NODE_JOINED)
    pod = recorder.new_pod(like=1)
    recorder.submitted(0, pod)
    recorder.started(1, pod, node)
    run = recorder.finish(SECOND)
    run.check_invariants()
    assert run.pods.decoded("name") == ["p1-c1"]
    assert run.pods.decoded("node") == ["spot-0"]
    assert run.trace.pod(pod).requests == run.trace.pod(1).requests
    assert run.nodes["up"].tolist() == [0, 0, 0, SECOND]
    assert run.summary["cost"] == 2 / 3600


def test_times_that_go_back_are_refused() -> None:
    recorder = RunRecorder(make_trace(2))
    recorder.submitted(5, 0)
    recorder.submitted(4, 1)
    with pytest.raises(InvariantError, match="order of time"):
        recorder.finish(9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda each: each.ended(8 * SECOND, 1),
        lambda each: each.started(8 * SECOND, 2, 0),
        lambda each: each.submitted(8 * SECOND, 0),
        lambda each: each.started(8 * SECOND, 3, 0),
    ],
)
def test_events_that_cannot_follow_are_found(wrong: Callable[[RunRecorder], None]) -> None:
    with pytest.raises(InvariantError, match="which cannot follow"):
        record(wrong).check_invariants()


def test_a_run_without_events() -> None:
    run = RunRecorder(make_trace(0)).finish(0)
    assert len(run.pods) == 0
    assert run.summary["pods"] == 0
    assert len(run.samples) == 1
    run.check_invariants()


def test_a_picture_has_four_parts(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for run in (RUN, RunRecorder(make_trace(0)).finish(0), RunRecorder(make_trace(0, nodes=0)).finish(0)):
        figure = run.plot()
        titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
        assert titles == [
            "Utilisation",
            "Waiting time",
            "Nodes: the fullest resource",
            "Owners: dominant share",
        ]
        path = tmp_path / "run.png"
        figure.savefig(path)
        assert path.read_bytes().startswith(b"\x89PNG")


def test_a_picture_shows_names_as_they_are() -> None:
    from schedframe.runs.plot import _label

    assert _label("a$b$\x1b[31m") == r"a\$b\$\x1b[31m"
    assert len(_label("x" * 100)) == 40


def test_the_map_of_nodes() -> None:
    from schedframe.runs.plot import node_map

    image = node_map(RUN.history)
    assert image.shape == (3, 300)
    assert image[1, 0] == 1000 / 8000
    assert image[1, -1] == 0
