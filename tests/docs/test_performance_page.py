"""Scripts that measure all figures and write them into the tables of a page."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from schedframe.bench import TEMPLATES
from schedframe.errors import InputError

from .tools import import_tool

page, suite = import_tool("performance_page"), import_tool("take_figures")
peer = import_tool("peer_figures")


def run_of(template: str, nodes: int, rate: float) -> dict[str, Any]:
    """Return the figures of a template that the tables read."""
    rates = {f"{what}_per_{unit}": rate for what in ("pods", "attempts") for unit in ("s", "cpu_s")}
    return {"template": template, "nodes": nodes, "p50_us": 40.0, "p99_us": None, **rates}


def workload_of(name: str, **more: Any) -> dict[str, Any]:
    """Return the figures of a workload of a file."""
    figures = {"workload": name, "nodes": 5, "pods": 10, "scheduled": 10, "threshold": None}
    return figures | {"pods_per_s": 900.0, "pods_per_cpu_s": 1000.0} | more


LOAD = {
    **{"template": "load", "nodes": 1000, "init": 10, "rss_mb": 50.0},
    **{"bytes_per_node": 900, "bytes_per_pod": 1200},
    **{f"{kind}_{unit}": 1.25 for kind in ("nodes", "pods") for unit in ("seconds", "cpu_seconds")},
}


def test_the_median_of_equal_runs_stands_beside_the_peer() -> None:
    runs = [run_of("basic", 5000, rate) for rate in (8000.0, 9530.0, 30_000.0)]
    table = page.templates([*runs, run_of("custom-plugin", 500, 1600.0), LOAD]).splitlines()
    assert table[2] == "| basic | 5,000 | 9,530 | 9,530 | 40 | 0 | 861–934 | 120–140 | 11 × |"
    assert table[3] == "| custom-plugin | 500 | 1,600 | 1,600 | 40 | 0 |  |  |  |"
    assert len(table) == 4


def test_workloads_stand_beside_their_threshold() -> None:
    table = page.workloads(
        [
            workload_of("A/1_x", threshold=90.0),
            workload_of("A/2", not_delivered="needs DynamicResources"),
            run_of("basic", 1, 1.0),
        ]
    ).splitlines()
    assert table[2:] == [
        "| A/1\\_x | 5 | 10 of 10 | 900 | 1,000 | 90 | 10 × |",
        "| A/2 | 5 | needs DynamicResources | 900 | 1,000 |  |  |",
    ]


def test_tables_of_a_page_are_replaced_and_nothing_else(tmp_path: Path) -> None:
    source, target, plot = (tmp_path / name for name in ("figures.json", "page.md", "plot.svg"))
    runs = [run_of("basic", nodes, 1000.0) for nodes in (500, 5000)]
    source.write_text("\n".join(map(json.dumps, [*runs, LOAD])), encoding="utf-8")
    target.write_text(
        "before\n<!-- figures: loading -->\nold\n<!-- end of figures -->\nbetween\n"
        "<!-- figures: templates -->\n<!-- end of figures -->\nafter\n",
        encoding="utf-8",
    )
    assert page.main([str(source), str(target), str(plot)]) == 0
    text = target.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- figures: loading -->\n| nodes |")
    assert "| 1,000 | 1.2 (1.2) | 900 | 10 | 1.2 (1.2) | 1,200 | 50 |" in text
    assert "old" not in text
    assert text.endswith("<!-- end of figures -->\nafter\n")
    assert "<svg" in plot.read_text(encoding="utf-8")
    assert page.filled(text, page.read(source)) == text


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(InputError, match="no table weather"):
        page.filled("<!-- figures: weather -->\n<!-- end of figures -->", [])


def test_the_page_needs_three_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert page.main([]) == 2
    assert capsys.readouterr().err.startswith("usage")


def test_the_suite_and_the_peer_name_existing_templates() -> None:
    assert {benchmark.template for benchmark in suite.SUITE} <= TEMPLATES.keys()
    assert peer.SAMPLING.keys() | peer.ALL_NODES.keys() <= TEMPLATES.keys()
    assert [peer.shown(rates) for rates in (None, (10, 10), (10, 1200))] == ["", "10", "10–1,200"]


def test_the_suite_runs_each_benchmark_as_often_as_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[list[str]] = []

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        called.append(command[3:])
        broken = "queue" in command
        return subprocess.CompletedProcess(command, broken, "" if broken else "{}\n", "out of luck\n")

    monkeypatch.setattr(suite, "SUITE", (suite.Benchmark("basic", 500, pods=7), suite.Benchmark("queue")))
    monkeypatch.setattr(suite.subprocess, "run", run)
    figures = tmp_path / "figures.json"
    assert suite.main([str(figures), "--runs", "2", "--perf", str(tmp_path)]) == 2
    assert figures.read_text(encoding="utf-8") == "{}\n" * 4
    assert called[0] == ["bench", "--template", "basic", "--nodes", "500", "--pods", "7", "--json"]
    file = str(tmp_path / "performance-config.yaml")
    assert called[-1] == ["bench", "scheduler-perf", file, "--label", "performance", "--json"]
    assert "out of luck" in capsys.readouterr().err
