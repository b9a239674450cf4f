"""``schedframe simulate``."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.traces.test_openb import HEAD, NODES, PODS

from .conftest import Cli

Write = Callable[[str, str], str]

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: mine}
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "10"}}
"""
MAPPING = """
pods:
  file: jobs.csv
  columns: {submit: {from: at, unit: s}, run: {from: runs, unit: s}}
  requests: {cpu: {from: cores, unit: cores}}
"""
JOBS = "at,runs,cores\n0,100,3\n10,100,3\n20,100,9\n"


def test_the_openb_trace_in_one_command(cli: Cli, write: Write, tmp_path: Path) -> None:
    pods, nodes = write("pods.csv", HEAD + PODS), write("nodes.csv", NODES)
    result = cli("simulate", pods, "--nodes", nodes, "--seed", "0", "-o", "run")
    assert result.code == 0
    assert result.out.splitlines()[0].split() == ["FIGURE", "VALUE", "UNIT"]
    assert "note: 1 row never scheduled: run from creation to deletion" in result.err
    with (tmp_path / "run" / "pods.csv").open(newline="") as file:
        rows = [(row["name"], row["node"], row["state"]) for row in csv.DictReader(file)]
    assert rows[0] == ("p1", "n0", "ended")
    assert {state for _, _, state in rows} == {"ended"}
    again = cli("simulate", pods, "--nodes", nodes, "--json")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert json.loads(again.out) == {"digest": summary["digest"], "measures": summary["measures"]}
    assert cli("compare", "run", "run").out == "equal runs\n"


def test_a_mapping_on_nodes_of_manifests(cli: Cli, write: Write) -> None:
    write("jobs.csv", JOBS)
    mapping, cluster = write("mapping.yaml", MAPPING), write("cluster.yaml", CLUSTER)
    result = cli("simulate", mapping, "--nodes", cluster, "--json")
    measures = json.loads(result.out)["measures"]
    assert (measures["ended"], measures["waiting"], measures["wait_max"]) == (2, 1, 180)
    dropped = cli("simulate", mapping, "--nodes", cluster, "--json", "--on-reject", "drop")
    assert json.loads(dropped.out)["measures"]["rejected"] == 2
    warm = cli("simulate", mapping, "--nodes", cluster, "--json", "--warm", "15s", "--until", "1m")
    assert json.loads(warm.out)["measures"]["pods"] == 1


def test_a_picture_is_drawn(cli: Cli, write: Write, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write("jobs.csv", JOBS)
    mapping, cluster = write("mapping.yaml", MAPPING), write("cluster.yaml", CLUSTER)
    result = cli("simulate", mapping, "--nodes", cluster, "--plot", "run.svg")
    assert "note: drawn: run.svg" in result.err
    assert "<svg" in (tmp_path / "run.svg").read_text()


def test_formats_are_seen_from_the_file(cli: Cli, write: Write) -> None:
    log = write("log.swf", "; MaxProcs: 8\n 1 0 5 100 4 -1 -1 8 200 -1 1 3 1 1 1 1 -1 -1\n")
    assert "cores_per_node: is not given" in cli("simulate", log).err
    measures = json.loads(cli("simulate", log, "--cores-per-node", "8", "--json").out)["measures"]
    assert measures["utilisation[cpu]"] == 1.0
    pod = "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}]}\n"
    dump = write("dump.yaml", pod)
    assert json.loads(cli("simulate", dump, "--json").out)["measures"]["waiting"] == 1


def test_mistakes_are_lines_on_stderr(cli: Cli, write: Write) -> None:
    table = write("table.csv", "a,b\n1,2\n")
    broken = write("broken.csv", HEAD + PODS.replace("32000", "x"))
    for arguments, message in (
        (("none.csv",), "none.csv: No such file or directory; give the path of a trace"),
        ((table,), "table.csv: is a trace of no format that is known; write a mapping file"),
        ((broken,), "broken.csv:4: cpu_milli: 'x' is not a number"),
        ((broken, "--on-fault", "skip", "--until", "soon"), "until: 'soon' is not a span of time"),
    ):
        result = cli("simulate", *arguments)
        assert (result.code, result.out) == (2, "")
        assert message in result.err
