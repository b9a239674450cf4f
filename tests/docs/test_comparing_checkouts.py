"""The scripts of docs/_tools that compare checkouts: here a checkout with itself."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from .tools import ROOT, import_tool, run_tool

SMALL = ("--nodes", "20", "--init", "5", "--pods", "30")
NODE_LIST = "sn,cpu_milli,memory_mib,gpu,model\nnode-0,64000,131072,2,T4\nnode-1,64000,131072,0,\n"
POD_LIST = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1024,1,500\nb,1000,1024,8,1000\n"


@pytest.mark.slow
def test_hashes_of_placements_are_the_same_in_every_run() -> None:
    templates = ("basic", "mixed-sizes", "preemption", "node-churn")
    lines = run_tool("placement_hashes.py", "--template", *templates, *SMALL)
    assert [line.split()[0] for line in lines] == [*templates]
    assert lines[0].startswith("basic nodes=20 init=5 pods=30 seed=0 placed=35 ")
    assert lines == run_tool("placement_hashes.py", "--template", *templates, *SMALL)
    assert lines != run_tool("placement_hashes.py", "--template", *templates, *SMALL, "--seed", "1")


@pytest.mark.slow
def test_the_openb_trace_is_hashed_too(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_all_node.csv").write_text(NODE_LIST)
    for name in ("default", "cpu200", "gpushare100", "gpuspec33", "multigpu50"):
        (tmp_path / f"openb_pod_list_{name}.csv").write_text(POD_LIST)
    lines = run_tool("placement_hashes.py", "--template", "basic", *SMALL, "--openb", str(tmp_path))
    assert len(lines) == 1 + 5 * 2
    assert lines[1].startswith("openb pods=default gpu=whole seed=0 placed=1 ")


@pytest.mark.parametrize("how", [("--rounds", "2"), ("--rounds", "1", "--interleave")])
@pytest.mark.slow
def test_speed_is_compared_in_rounds(how: tuple[str, ...]) -> None:
    options = ("--template", "basic", *SMALL, *how)
    *_, row, mean = run_tool("compare_speed.py", str(ROOT), str(ROOT), *options)
    assert row.split()[:2] == ["basic", "20"]
    assert mean.startswith("geometric mean of the ratios: CPU ")


def test_runs_that_fail_end_the_comparison_with_their_text() -> None:
    turns: Any = import_tool("taking_turns")
    command = [sys.executable, "-m", "schedframe", "bench", "--template", "no-such"]
    run = turns.Turns(command, ROOT, {**os.environ, "PYTHONPATH": str(ROOT)})
    with pytest.raises(RuntimeError, match="no-such"):
        turns.run_in_turns([run])


def test_each_run_goes_on_until_all_have_ended() -> None:
    turns: Any = import_tool("taking_turns")
    command = [sys.executable, "-m", "schedframe", "bench", "--json", "--template", "basic", *SMALL]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    long, short = ([*command, "--pods", str(pods)] for pods in (3000, 30))
    outputs = turns.run_in_turns([turns.Turns(each, ROOT, environment) for each in (long, short)])
    assert [json.loads(text)["pods"] for text in outputs] == [3000, 30]
