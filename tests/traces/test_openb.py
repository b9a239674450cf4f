"""The openb trace: columns, units, and the traps of its files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from schedframe import InputError
from schedframe.traces import FOREVER, read_openb

HEAD = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time\n"
)
PODS = (
    "p0,4000,8192,1,500,T4|P100,LS,Running,100,700,103\n"
    "p1,4000,8192,1,500,T4|P100,LS,Running,40,50,40\n"
    "p2,32000,1024,2,1000,,BE,Failed,60,90,\n"
    "p3,1000,0,0,0,,BE,Succeeded,60,60,60\n"
)
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,32000,262144,0,\n"
SECOND = 1_000_000


def write(folder: Path, text: str, name: str = "pods.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_are_in_the_order_of_arrival(tmp_path: Path) -> None:
    trace = read_openb(write(tmp_path, HEAD + PODS), write(tmp_path, NODES, "nodes.csv"))
    assert trace.pods.decoded("name") == ["p1", "p2", "p3", "p0"]
    assert trace.pods["submit"].tolist() == [40 * SECOND, 60 * SECOND, 60 * SECOND, 100 * SECOND]
    assert trace.pods["run"].tolist() == [10 * SECOND, 30 * SECOND, 0, 597 * SECOND]
    assert trace.pods["template"][0] == trace.pods["template"][3]
    assert len(trace.templates) == 3
    assert trace.treated == {"never scheduled: run from creation to deletion": 1}


def test_a_pod_requests_parts_or_whole_gpus(tmp_path: Path) -> None:
    pods, nodes = write(tmp_path, HEAD + PODS), write(tmp_path, NODES, "nodes.csv")
    trace = read_openb(pods, nodes)
    pod = trace.pod(3)
    assert (pod.name, pod.namespace) == ("p0", "openb")
    assert pod.requests == {"cpu": 4000, "memory": 8192 * 2**20, "alibabacloud.com/gpu-milli": 500}
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.node_affinity is not None
    required = pod.spec.affinity.node_affinity.required
    assert required is not None
    assert required.terms[0].match_expressions[0].values == ("T4", "P100")
    assert trace.pod(1).requests["alibabacloud.com/gpu-milli"] == 2000
    assert trace.capacity()["alibabacloud.com/gpu-milli"] == 2000
    assert trace.node(0).labels["alibabacloud.com/gpu-card-model"] == "P100"
    whole = read_openb(pods, nodes, gpu="whole")
    assert whole.pod(3).requests["alibabacloud.com/gpu"] == 1


def test_pods_of_a_template_share_their_spec(tmp_path: Path) -> None:
    trace = read_openb(write(tmp_path, HEAD + PODS))
    assert trace.pod(0).spec is trace.pod(3).spec
    assert (trace.pod(0, attempt=2).name, trace.pod(0, attempt=2).uid) == ("p1-r2", "0-r2")


def test_lists_without_times_are_counted(tmp_path: Path) -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,2,0,0\np1,1,2,8,1000\n"
    trace = read_openb(write(tmp_path, text))
    assert trace.pods["submit"].tolist() == [0, SECOND]
    assert trace.pods["run"].tolist() == [FOREVER, FOREVER]
    assert trace.treated == {"without times: arrive a second apart, never end": 2}
    assert trace.describe()["endless"] == 2


def test_a_packed_file_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv.gz"
    path.write_bytes(gzip.compress(("\ufeff" + HEAD + PODS).encode()))
    assert len(read_openb(path)) == 4


FAULTS = {
    "missing column": (HEAD.replace("cpu_milli", "cpu"), PODS, r"pods\.csv: cpu_milli: .*did you mean"),
    "no number": (HEAD, PODS.replace("32000", "3x"), r"pods\.csv:4: cpu_milli: '3x' is not a number"),
    "negative": (
        HEAD,
        PODS.replace(",40,50,40", ",-40,50,40"),
        r"pods\.csv:3: creation_time: '-40' is below 0",
    ),
    "empty": (HEAD, PODS.replace(",40,50,40", ",,50,40"), r"pods\.csv:3: creation_time: is empty"),
    "ends before it starts": (
        HEAD,
        PODS.replace(",700,", ",101,"),
        r"pods\.csv:2: deletion_time: '101' is before",
    ),
    "cells": (HEAD, PODS.replace(",60,60,60", ",60"), r"pods\.csv:5: has another number of cells"),
    "infinite": (HEAD, PODS.replace("32000", "inf"), r"pods\.csv:4: cpu_milli: 'inf' is not a number"),
    "beyond int64": (HEAD, PODS.replace("32000", "9" * 30), r"pods\.csv:4: cpu_milli"),
    "twice": (HEAD.replace("qos", "name"), PODS, r"pods\.csv: name: the column is there twice"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_error_with_row_and_column(fault: str, tmp_path: Path) -> None:
    head, pods, message = FAULTS[fault]
    with pytest.raises(InputError, match=message) as caught:
        read_openb(write(tmp_path, head + pods))
    assert caught.value.fix


@pytest.mark.parametrize("fault", ["no number", "negative", "ends before it starts", "cells", "empty"])
def test_rows_with_faults_can_be_left_out(fault: str, tmp_path: Path) -> None:
    head, pods, _ = FAULTS[fault]
    trace = read_openb(write(tmp_path, head + pods), on_fault="skip")
    assert len(trace) == 3
    assert [count for name, count in trace.treated.items() if name.startswith("left out")] == [1]
    assert any(name.startswith("left out") for name in str(trace.describe()).splitlines())


def test_one_bad_row_among_many_parts_is_found(tmp_path: Path) -> None:
    rows = ["p,1,1,0,0,,LS,Running,1,2,1\n"] * 70_000
    rows[67_000] = "p,1,1,0,0,,LS,Running,1,2s,1\n"
    path = write(tmp_path, HEAD + "".join(rows))
    with pytest.raises(InputError, match=r"pods\.csv:67002: deletion_time: '2s' is not a number"):
        read_openb(path)
    assert len(read_openb(path, on_fault="skip")) == 69_999


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"\x1f\x8b\x08\x00", "is damaged"),
        (None, "No such file"),
    ],
)
def test_files_that_are_none(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_openb(path)
