"""Commands that read a real cluster and change nothing of it, against an API server in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedframe.cli.main import run

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

from schedframe.testing.api_server import ApiServer


def node(name: str, cpu: str) -> dict[str, Any]:
    room = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": metadata,
        "status": {"allocatable": room, "capacity": room},
    }


def pod(name: str, cpu: str, on: str = "", **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    placed = {"nodeName": on} if on else {}
    metadata = {"name": name, "namespace": "default"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"containers": [container], **placed, **spec},
    }


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as server:
        for each in (node("small", "1"), node("large", "4"), pod("there", "3", "large"), pod("waits", "2")):
            server.create(each)
        yield server


@pytest.fixture
def kubeconfig(server: ApiServer, tmp_path: Path) -> str:
    return str(server.kubeconfig(tmp_path / "kubeconfig"))


def written(folder: Path, *manifests: dict[str, Any]) -> str:
    file = folder / "manifests.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": manifests}))
    return str(file)


def state(server: ApiServer) -> list[Any]:
    return [server.list(kind) for kind in ("Node", "Pod", "Event")]


def test_a_pending_pod_is_explained(
    server: ApiServer, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(server)
    assert run(["explain", "waits", "--kubeconfig", kubeconfig]) == 1
    shown = capsys.readouterr().out
    assert "Insufficient cpu" in shown
    assert state(server) == before


def test_a_dry_run_places_what_a_file_has(
    server: ApiServer, kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(server)
    file = written(tmp_path, pod("fits", "500m"), pod("waits", "1"))
    assert run(["schedule", "--kubeconfig", kubeconfig, "--dry-run", file, "-o", "json"]) == 0
    placed = {each["name"]: each["node"] for each in json.loads(capsys.readouterr().out)["pods"]}
    # the file's pod takes the place of the one of the same name
    assert placed == {"fits": "small", "waits": "large"}
    assert state(server) == before


def test_a_dry_run_admits_what_a_file_has_by_the_classes_and_limits_of_the_cluster(
    server: ApiServer, kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.create(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": "kata"},
            "handler": "kata",
            "overhead": {"podFixed": {"cpu": "1"}},
        }
    )
    limits = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]}
    metadata = {"name": "limits", "namespace": "default"}
    server.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": limits})
    unnamed = pod("unnamed", "1")
    del unnamed["spec"]["containers"][0]["resources"]
    file = written(tmp_path, pod("heavy", "500m", runtimeClassName="kata"), unnamed)
    assert run(["schedule", "--kubeconfig", kubeconfig, "--dry-run", file, "-o", "json"]) == 1
    placed = {each["name"]: each["node"] for each in json.loads(capsys.readouterr().out)["pods"]}
    assert placed == {"waits": None, "heavy": None, "unnamed": None}


def test_a_dry_run_must_be_meant(kubeconfig: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schedule", "--kubeconfig", kubeconfig]) == 2
    assert "--dry-run" in capsys.readouterr().err


def test_controllers_make_the_pods_of_their_workloads(
    server: ApiServer, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod("x", "1")["spec"]}
    server.create(
        {
            "kind": "ReplicaSet",
            "apiVersion": "apps/v1",
            "metadata": {"name": "set", "namespace": "default"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "a"}}, "template": template},
        }
    )
    run(["schedule", "--kubeconfig", kubeconfig, "--dry-run", "-o", "json"])
    assert [each["name"] for each in json.loads(capsys.readouterr().out)["pods"]] == ["waits"]


def test_a_kind_that_may_not_be_listed_is_left_out(
    server: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.forbid("list", "services", "reader")
    kubeconfig = str(server.kubeconfig(tmp_path / "reader", user="reader"))
    assert run(["explain", "waits", "--kubeconfig", kubeconfig]) == 1
    assert "Service is left out" in capsys.readouterr().err


def test_no_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "waits", "--kubeconfig", "/absent"]) == 3
    assert "kubeconfig /absent does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("hidden", [[], ["--anonymize"]])
def test_every_command_accepts_a_snapshot(
    server: ApiServer, kubeconfig: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], hidden: list[str]
) -> None:
    server.create(pod("unbound", "500m"))
    file = tmp_path / "snapshot.json"
    assert run(["snapshot", "--kubeconfig", kubeconfig, "-o", str(file), *hidden]) == 0
    capsys.readouterr()
    assert run(["schedule", str(file), "-o", "json"]) == 1
    pods = json.loads(capsys.readouterr().out)["pods"]
    assert sorted(each["node"] is None for each in pods) == [False, True]
    (stays,) = [each["name"] for each in pods if each["node"] is None]
    assert run(["explain", stays, str(file)]) == 1
    assert "Insufficient cpu" in capsys.readouterr().out
