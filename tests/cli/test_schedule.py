"""``schedframe schedule``: answers, forms, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.configurations import configuration

from .conftest import Cli
from .manifests import node, pod, text

Write = Callable[[str, str], str]


def test_all_placed_is_exit_code_0(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"), pod("web"))))
    assert result.code == 0
    assert "default/web  a" in result.out
    assert "placed all 1 pending pod (on 1 node, 0 pods there before)" in result.out


def test_some_pending_is_exit_code_1_and_says_why(cli: Cli, write: Write) -> None:
    cluster = text(node("a"), pod("big", "64"), pod("huge", "99"), pod("web"))
    result = cli("schedule", write("cluster.yaml", cluster))
    assert result.code == 1
    assert "default/web   a" in result.out
    assert "0/1 nodes are available: 1 Insufficient cpu." in result.out
    assert "      2  Insufficient cpu\n" in result.out


def test_pods_that_run_are_counted_and_those_that_ended_are_not(cli: Cli, write: Write) -> None:
    ended = pod("done", "4") | {"status": {"phase": "Succeeded"}}
    cluster = write("cluster.yaml", text(node("a"), pod("old", "3", on="a"), ended, pod("web"), pod("late")))
    result = cli("schedule", cluster)
    assert "placed 1 of 2 pending pods (on 1 node, 1 pod there before)" in result.out
    assert "done" not in result.out


def test_utilisation_is_requested_of_allocatable(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("a.yaml", text(node("a"), node("b"), pod("web", "3"))), "-o", "json")
    summary = json.loads(result.out)["summary"]
    assert summary["utilisation"]["cpu"] == {"requested": 3000, "allocatable": 8000, "unit": "milli-CPU"}
    assert summary["utilisation"]["memory"] == {"requested": 0, "allocatable": 2**34, "unit": "bytes"}
    assert summary["utilisation"]["pods"] == {"requested": 1, "allocatable": 20, "unit": "count"}


def test_extended_resources_are_part_of_utilisation(cli: Cli, write: Write) -> None:
    gpu_node = node("a")
    gpu_node["status"]["allocatable"]["example.com/gpu"] = "4"
    job = pod("job")
    resources = job["spec"]["containers"][0]["resources"]
    resources["requests"]["example.com/gpu"] = "3"
    resources["limits"] = {"example.com/gpu": "3"}
    result = cli("schedule", write("cluster.yaml", text(gpu_node, job)))
    assert ["example.com/gpu", "3", "4", "75.0", "%"] in [line.split() for line in result.out.splitlines()]


def test_wide_shows_what_each_pod_asks_for(cli: Cli, write: Write) -> None:
    result = cli(
        "schedule", write("cluster.yaml", text(node("a"), pod("web", "500m", priority=7))), "-o", "wide"
    )
    head, row = (line.split() for line in result.out.splitlines()[:2])
    assert head[:8] == ["POD", "NODE", "PRIORITY", "CPU", "MEMORY", "OTHER", "SCHEDULER", "ATTEMPTS"]
    assert row == ["default/web", "a", "7", "0.5", "0", "default-scheduler", "1"]


def test_json_and_yaml_say_the_same(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("web"), pod("big", "64"), {"kind": "Secret"}))
    as_json, as_yaml = cli("schedule", cluster, "-o", "json"), cli("schedule", cluster, "-o", "yaml")
    data = json.loads(as_json.out)
    assert yaml.safe_load(as_yaml.out) == data
    web, big = data["pods"]
    assert web == {
        "namespace": "default",
        "name": "web",
        "scheduler": "default-scheduler",
        "node": "a",
        "attempts": 1,
        "message": "",
        "reasons": [],
    }
    assert (big["node"], big["reasons"]) == (None, ["Insufficient cpu"])
    assert data["summary"]["pending_by_reason"] == [{"reason": "Insufficient cpu", "pods": 1}]
    assert data["summary"]["skipped_kinds"] == {"Secret": 1}


def test_bindings_are_binding_objects(cli: Cli, write: Write) -> None:
    cluster = text(node("a"), pod("web", namespace="shop"), pod("1e3"), pod("big", "64"))
    result = cli("schedule", write("cluster.yaml", cluster), "-o", "bindings")
    assert result.code == 1
    first, second = yaml.safe_load_all(result.out)
    assert first == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "shop", "name": "web"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "a"},
    }
    assert second["metadata"]["name"] == "1e3"


def test_nothing_placed_is_no_binding(cli: Cli, write: Write) -> None:
    assert (
        cli("schedule", write("cluster.yaml", text(node("a"), pod("big", "64"))), "-o", "bindings").out == ""
    )


def test_several_files_folders_and_stdin_are_one_cluster(cli: Cli, write: Write, tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    write("nodes/a.json", text(node("a")))
    result = cli("schedule", "nodes", write("pods.yaml", text(pod("web"))), "-", stdin=text(pod("db")))
    assert result.code == 0
    assert "placed all 2 pending pods" in result.out


def test_the_seed_decides_between_equal_nodes(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(*(node(f"n{i}") for i in range(30)), pod("web")))
    outputs = {cli("schedule", cluster, "--seed", str(seed), "-o", "bindings").out for seed in range(6)}
    assert len(outputs) > 1
    assert cli("schedule", cluster, "--seed", "3").out == cli("schedule", cluster, "--seed", "3").out


def test_a_cluster_without_nodes_leaves_all_pending(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("pods.yaml", text(pod("web"))))
    assert (result.code, result.out.count("no nodes available to schedule pods")) == (1, 2)


def test_no_pending_pods_is_nothing_to_complain_of(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"))))
    assert result.code == 0
    assert "no pending pods" in result.out


def test_a_pod_of_an_unknown_profile_stays_pending_with_the_reason(cli: Cli, write: Write) -> None:
    result = cli("schedule", write("cluster.yaml", text(node("a"), pod("web", schedulerName="mine"))))
    assert result.code == 1
    assert "no profile is named mine; the profiles are default-scheduler" in result.out


def test_a_gated_pod_stays_pending_with_the_reason(cli: Cli, write: Write) -> None:
    gated = pod("web", schedulingGates=[{"name": "example.com/wait"}])
    result = cli("schedule", write("cluster.yaml", text(node("a"), gated)), "-o", "json")
    (found,) = json.loads(result.out)["pods"]
    assert found["attempts"] == 0
    assert "example.com/wait" in found["message"]


def test_the_configuration_counts(cli: Cli, write: Write) -> None:
    mine = configuration({"schedulerName": "mine"})
    config = write("config.yaml", json.dumps(mine))
    cluster = write("cluster.yaml", text(node("a"), pod("web", schedulerName="mine")))
    assert cli("schedule", cluster, "--config", config).code == 0


def test_the_effective_configuration_can_be_written_and_used(cli: Cli, write: Write) -> None:
    cluster = write("cluster.yaml", text(node("a"), pod("web")))
    assert cli("schedule", cluster, "--write-config-to", "effective.yaml").code == 0
    assert cli("config", "show").out == Path("effective.yaml").read_text(encoding="utf-8")
    assert cli("schedule", cluster, "--config", "effective.yaml").code == 0


def test_plugins_that_are_left_out_are_named(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("schedframe.cli.configurations.left_out", lambda config, plugins: ["VolumeBinding"])
    result = cli("schedule", write("cluster.yaml", text(node("a"))))
    assert "note: enabled but not part of this release, so left out: VolumeBinding\n" in result.err
