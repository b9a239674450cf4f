"""The openb converter: on a trace made here.

There is one more test, of the real trace, if the variable SCHEDFRAME_OPENB_DIR names the folder it is in.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from .running import EXAMPLES, shell

CONVERT = EXAMPLES / "02-openb-trace" / "convert.py"
REAL = os.environ.get("SCHEDFRAME_OPENB_DIR", "")

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
node-0,32000,65536,0,
node-1,64000,131072,2,T4
node-2,64000,131072,8,G2
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
late,1000,1024,1,500,T4|G2,LS,Running,50,60,50
early,2000,2048,0,0,,BE,Running,5,60,5
wide,4000,4096,8,1000,,Guaranteed,Pending,10,60,
only,4000,4096,4,1000,T4,Guaranteed,Pending,20,60,
"""
MULTI = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\nfirst,1000,1024,2,1000\nsecond,1000,1024,0,0\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "openb_node_list_all_node.csv").write_text(NODES, encoding="utf-8")
    (tmp_path / "openb_pod_list_default.csv").write_text(PODS, encoding="utf-8")
    (tmp_path / "openb_pod_list_multigpu20.csv").write_text(MULTI, encoding="utf-8")
    return tmp_path


def convert(folder: Path, options: str = "") -> tuple[list[Any], list[Any]]:
    """Nodes and pods as they are written."""
    done = shell(f"python '{CONVERT}' '{folder}' -o '{folder / 'out'}' {options}", folder)
    assert done.returncode == 0, done.stderr
    nodes, pods = (json.loads((folder / "out" / f"{name}.json").read_text()) for name in ("nodes", "pods"))
    return nodes["items"], pods["items"]


def requests(pod: Any) -> Any:
    (container,) = pod["spec"]["containers"]
    return container["resources"]["requests"]


def test_nodes_and_pods_in_order_of_creation(trace: Path) -> None:
    nodes, pods = convert(trace)
    assert [node["status"]["allocatable"].get("alibabacloud.com/gpu") for node in nodes] == [None, "2", "8"]
    assert nodes[1]["metadata"]["labels"]["alibabacloud.com/gpu-card-model"] == "T4"
    assert [pod["metadata"]["name"] for pod in pods] == ["early", "wide", "only", "late"]
    assert requests(pods[0]) == {"cpu": "2000m", "memory": "2048Mi"}
    assert requests(pods[3])["alibabacloud.com/gpu"] == "1"


def test_shared_gpus_are_counted_in_thousandths(trace: Path) -> None:
    nodes, pods = convert(trace, "--gpu shared")
    assert nodes[2]["status"]["allocatable"]["alibabacloud.com/gpu-milli"] == "8000"
    assert requests(pods[3])["alibabacloud.com/gpu-milli"] == "500"
    assert requests(pods[1])["alibabacloud.com/gpu-milli"] == "8000"


def test_lists_without_times_stay_in_their_order(trace: Path) -> None:
    _, pods = convert(trace, "--pods multigpu20")
    assert [pod["metadata"]["name"] for pod in pods] == ["first", "second"]


def test_the_result_can_be_scheduled(trace: Path) -> None:
    convert(trace)
    done = shell("schedframe schedule out/nodes.json out/pods.json -o json", trace)
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    placed = {pod["name"]: pod["node"] for pod in data["pods"]}
    assert placed["wide"] == "node-2"
    assert placed["only"] is None
    assert placed["late"] == "node-1"
    assert data["summary"]["utilisation"]["alibabacloud.com/gpu"]["requested"] == 9


def test_a_trace_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = shell(f"python '{CONVERT}' '{tmp_path}'", tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("convert.py: ")
    assert "openb_node_list_all_node.csv" in done.stderr


if REAL:

    def test_the_real_trace(tmp_path: Path) -> None:
        done = shell(f"python '{CONVERT}' '{REAL}' -o '{tmp_path}'", tmp_path)
        assert done.stdout == "1523 nodes, 8152 pods\n"
        done = shell("schedframe schedule nodes.json pods.json -o json", tmp_path)
        summary = json.loads(done.stdout)["summary"]
        assert summary["pending_before"] == 8152
        assert summary["placed"] + sum(each["pods"] for each in summary["pending_by_reason"]) == 8152
        assert all(use["requested"] <= use["allocatable"] for use in summary["utilisation"].values())
        # the pods ask for more whole GPUs than there are, and nearly all of these are given out
        assert summary["utilisation"]["alibabacloud.com/gpu"]["requested"] > 0.98 * 6212
