"""``schedframe compare``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compare.test_comparison import BASE, OTHER

from .conftest import Cli
from .manifests import node, pod, text


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    BASE.write(tmp_path / "a")
    OTHER.write(tmp_path / "b")
    return tmp_path / "a", tmp_path / "b"


def test_measures_and_pods_are_listed(cli: Cli, folders: tuple[Path, Path]) -> None:
    result = cli("compare", *folders)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "2 of 3 pods differ"
    assert lines[1].split() == ["FIGURE", "A", "B", "CHANGE", "TIMES", "UNIT"]
    assert any(line.startswith("wait_max") and "1.2" in line for line in lines)
    assert sum(line.startswith(("1 ", "2 ")) for line in lines) >= 2
    assert "… and 1 more pods" in cli("compare", *folders, "--pods", "1").out
    assert cli("compare", folders[0], folders[0]).out == "equal runs\n"


def test_a_gate_that_fails_is_exit_code_1(cli: Cli, folders: tuple[Path, Path]) -> None:
    result = cli("compare", *folders, "--fail-if", "wait_max > 1.05x", "--fail-if", "evictions > 3")
    assert result.code == 1
    assert [line.split()[4] for line in result.out.splitlines() if "no interval" in line] == ["1.2", "1"]
    assert cli("compare", *folders, "--fail-if", "wait_max > 1.5x").code == 0


def test_seeds_are_paired_by_name(cli: Cli, tmp_path: Path) -> None:
    for seed in range(5):
        BASE.write(tmp_path / "a" / f"seed-{seed}")
        OTHER.write(tmp_path / "b" / f"seed-{seed}")
    result = cli("compare", tmp_path / "a", tmp_path / "b", "--fail-if", "wait_max > 1.05x", "-o", "json")
    assert result.code == 1
    answer = json.loads(result.out)
    assert [each["name"] for each in answer["runs"]] == [f"seed-{seed}" for seed in range(5)]
    assert answer["gates"][0]["pairs"] == 5
    assert answer["failed"] is True
    BASE.write(tmp_path / "a" / "seed-9")
    refused = cli("compare", tmp_path / "a", tmp_path / "b")
    assert refused.code == 2
    assert "has seed-9; give two runs, or two folders with runs of equal names" in refused.err


def test_mistakes_are_lines_on_stderr(cli: Cli, folders: tuple[Path, Path], tmp_path: Path) -> None:
    for arguments, message in (
        ((tmp_path / "none", folders[1]), "summary.json: cannot be read"),
        (
            (*folders, "--fail-if", "wait_p9 > 1x"),
            "there is no measure wait_p9 in a run; did you mean wait_p99?",
        ),
        ((*folders, "--fail-if", "wait_p99"), "is no condition; write it like"),
    ):
        result = cli("compare", *arguments)
        assert (result.code, result.out) == (2, "")
        assert message in result.err


def test_two_configurations(cli: Cli, write: Callable[[str, str], str]) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    args = "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 5}]}}"
    profiles = f"profiles: [{{pluginConfig: [{{name: NodeResourcesFit, args: {args}}}]}}]\n"
    spread, pack = write("spread.yaml", head), write("pack.yaml", head + profiles)
    cluster = write("cluster.yaml", text(node("a"), node("b"), pod("old", "2", on="a"), pod("new")))
    words = ("compare", "--config", spread, "--config", pack, cluster)
    result = cli(*words)
    assert result.code == 0
    assert result.out.splitlines()[1].split() == ["nodes", "in", "use", "2", "1"]
    assert "default/new  b  a  NodeResourcesFit" in result.out
    document = json.loads(cli(*words, "-o", "json").out)
    assert [each["configuration"] for each in document["runs"]] == ["spread.yaml", "pack.yaml"]
    assert cli("compare", "--config", spread, cluster).code == 2
