"""The example of a real cluster, as a program of its own against an API server in this process."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

from schedframe.testing.api_server import ApiServer

EXAMPLE = Path(__file__).parents[2] / "examples" / "10-real-cluster" / "scheduler.py"


def pod(name: str, scheduler: str) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"team": "blue"}},
        "spec": {"schedulerName": scheduler, "containers": [{"name": "c", "image": "pause"}]},
    }


def test_the_example_binds_its_own_pods_by_its_own_plugin(tmp_path: Path) -> None:
    with ApiServer() as server:
        for team in ("red", "blue"):
            room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
            metadata = {"name": f"{team}-node", "labels": {"team": team}}
            node = {"kind": "Node", "apiVersion": "v1", "metadata": metadata, "status": {"allocatable": room}}
            server.create(node)
        server.create(pod("ours", "python-scheduler"))
        server.create(pod("another", "default-scheduler"))
        command = [sys.executable, str(EXAMPLE), "--kubeconfig", str(server.kubeconfig(tmp_path / "config"))]
        with interrupts_not_ignored(), subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            try:
                server.wait_for(lambda: node_of(server, "ours") or process.poll() is not None)
                process.send_signal(signal.SIGINT)
                process.wait(60)
            finally:
                process.kill()
        assert (node_of(server, "ours"), node_of(server, "another")) == ("blue-node", "")


@contextmanager
def interrupts_not_ignored() -> Iterator[None]:
    """A program that a shell starts in the background ignores SIGINT, and so do the programs it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def node_of(server: ApiServer, name: str) -> str:
    present = server.get("Pod", f"default/{name}")
    assert present is not None
    return str(present["spec"].get("nodeName", ""))
