"""The comparison, on a small trace made here."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from schedframe_fgd.compare import STRATEGIES, main, run
from schedframe_fgd.trace import inflated, read_trace, task_types


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nodes = [[f"n{i}", 64000, 262144, 4, "T4" if i % 3 else "G2"] for i in range(15)]
    _write(
        tmp_path / "openb_node_list_gpu_node.csv", ["sn", "cpu_milli", "memory_mib", "gpu", "model"], nodes
    )
    rng = Random(7)
    kinds = [(1, 300), (1, 700), (1, 1000), (2, 1000), (4, 1000), (0, 0)]
    pods = [
        [f"p{i}", 4000 + 2000 * rng.randrange(3), 4096, *rng.choices(kinds, [5, 5, 5, 1, 1, 2])[0], ""]
        for i in range(60)
    ]
    header = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec"]
    _write(tmp_path / "openb_pod_list_default.csv", header, pods)
    return tmp_path


def _write(path: Path, header: list[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def test_the_trace_becomes_nodes_tasks_and_types(folder: Path) -> None:
    trace = read_trace(folder)
    assert trace.capacity == 60_000
    assert len(trace.tasks) == 60
    assert sum(kind.weight for kind in task_types(trace.tasks)) == 60
    assert 0.5 <= sum(kind.weight for kind in task_types(trace.tasks, 0.5)) / 60 < 0.9


def test_tasks_are_drawn_up_to_the_ratio(folder: Path) -> None:
    trace = read_trace(folder)
    for ratio in (0.4, 1.3):
        asked = sum(task.gpu_milli for task in inflated(trace, ratio, Random(1)))
        assert abs(asked - ratio * trace.capacity) <= 4000
    assert inflated(trace, 1.3, Random(1)) == inflated(trace, 1.3, Random(1))


def test_fgd_leaves_fewer_gpus_unallocated_than_random_placement(folder: Path) -> None:
    trace = read_trace(folder)
    left = {}
    for name in ("random", "FGD"):
        runs = [
            run(trace, STRATEGIES[name], inflated(trace, 1.3, Random(seed)), seed=seed) for seed in range(2)
        ]
        left[name] = sum(min(outcome.unallocated.values()) for outcome in runs)
    assert left["FGD"] < left["random"]


def test_the_table_is_printed_for_a_folder_given_by_option_or_variable(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["--trace", str(folder), "--ratio", "0.5", "--strategy", "best fit", "--strategy", "dot product"])
    printed = capsys.readouterr().out
    assert "15 nodes, 60 GPUs, 60 tasks to draw from" in printed
    assert [line.split("  ")[0] for line in printed.splitlines()[-2:]] == ["best fit", "dot product"]
    monkeypatch.setenv("OPENB_TRACE", str(folder))
    main(["--ratio", "0.2", "--strategy", "least allocated", "--strategy", "most allocated"])
    assert "most allocated" in capsys.readouterr().out


def test_a_missing_trace_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cannot read the trace"):
        main(["--trace", str(tmp_path)])


REAL = os.environ.get("OPENB_TRACE", "")
if REAL:  # takes a minute

    def test_on_the_real_trace_the_strategies_are_in_the_order_of_the_paper() -> None:
        trace = read_trace(Path(REAL))
        tasks = inflated(trace, 1.1, Random(42))
        names = ("random", "dot product", "best fit", "FGD")
        left = [min(run(trace, STRATEGIES[name], tasks, seed=42).unallocated.values()) for name in names]
        assert left == sorted(left, reverse=True)
        assert left[0] > 1.2 * left[1] > 1.2 * 1.2 * left[2] > 1.2**3 * left[3]
