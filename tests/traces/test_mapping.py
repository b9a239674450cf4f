"""Mapping files: what they declare, what they refuse, and an export of Google's trace of 2019."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schedframe import InputError
from schedframe.traces import FOREVER, NodeEvent, read_trace

SECOND = 1_000_000
MAPPING = """\
origin: 10s
pods:
  file: jobs.csv
  where: {kind: {not: [ghost]}}
  columns:
    submit: {from: submit_s, unit: s}
    run: {from: duration, unit: m, default: forever}
    owner: organization
    name: job_name
    count: worker_num
    priority: {from: job_type, map: {HP: 1000, Spot: 0}}
  requests:
    cpu: {from: cpu_request, times: 1000}
    memory: {from: gib, unit: GiB, default: 0}
    nvidia.com/gpu: gpus
  only_on:
    model: {from: models, split: "|"}
nodes:
  file: nodes.csv
  columns: {name: node, price: {value: 0.25}}
  allocatable:
    cpu: {from: cpus, unit: cores}
    nvidia.com/gpu: gpus
  labels: {model: gpu_model}
"""
JOBS = """\
job_name,submit_s,duration,organization,worker_num,job_type,cpu_request,gib,gpus,models,kind
train,12.5,2,ml,3,HP,1.5,8,1,A10|A100,job
serve,5,,web,1,Spot,0.25,,0,,job
never,20,1,web,1,Spot,1,1,0,,ghost
"""
NODES = "node,cpus,gpus,gpu_model\nn0,64,8,A100\nn1,32,0,\n"


def write(folder: Path, mapping: str = MAPPING, jobs: str = JOBS) -> Path:
    (folder / "jobs.csv").write_text(jobs)
    (folder / "nodes.csv").write_text(NODES)
    path = folder / "mapping.yaml"
    path.write_text(mapping)
    return path


def test_columns_become_pods_and_nodes(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path))
    assert trace.pods.decoded("name") == ["serve-0", "train-0", "train-1", "train-2"]
    assert trace.pods["submit"].tolist() == [0, *[2_500_000] * 3]
    assert trace.pods["run"].tolist() == [FOREVER, *[120 * SECOND] * 3]
    assert trace.pods.decoded("owner") == ["web", "ml", "ml", "ml"]
    assert trace.pods["group"].tolist() == [-1, 0, 0, 0]
    assert trace.min_count.tolist() == [3]
    train = trace.templates[trace.pods["template"][1]]
    assert train.requests == {"cpu": 1500, "memory": 8 * 2**30, "nvidia.com/gpu": 1}
    assert (train.priority, train.only_on) == (1000, {"model": ("A10", "A100")})
    assert trace.capacity() == {"cpu": 96_000, "memory": 0, "nvidia.com/gpu": 8}
    assert [each.price for each in trace.node_templates] == [0.25, 0.25]
    assert trace.treated == {"left out: where kind": 1, "before the origin: arrive at 0": 1}


def test_files_can_be_given(tmp_path: Path) -> None:
    mapping = write(tmp_path)
    other = tmp_path / "other.csv"
    other.write_text(JOBS.replace("train", "learn"))
    assert read_trace(mapping, other).pods.decoded("name")[1] == "learn-0"


FAULTS = {
    "unit": (
        ", unit: s}",
        "}",
        r"mapping\.yaml:6: pods\.columns\.submit: the unit of submit_s is not said; write unit:",
    ),
    "unknown unit": (
        "unit: GiB",
        "unit: Gib",
        r"mapping\.yaml:14: .*'Gib' is no unit here; did you mean GiB\?",
    ),
    "unknown key": (
        "    owner:",
        "    ovner:",
        r"mapping\.yaml:8: pods\.columns\.ovner: is not known; did you mean owner\?",
    ),
    "no arrival": ("    submit: {from: submit_s, unit: s}\n", "", r"pods\.columns: has no submit"),
    "no run time": ("    run: {from: duration, unit: m, default: forever}\n", "", "has neither run nor end"),
    "missing column": (
        "from: duration",
        "from: durations",
        r"jobs\.csv: durations: .*did you mean duration\?",
    ),
    "not in the map": ("Spot: 0}", "spot: 0}", r"jobs\.csv:3: job_type: 'Spot' is not in the map; add it"),
    "no list": (
        "columns: {name: node,",
        "columns: {name: node, event: {from: cpus, map: {1: jion}},",
        "'jion' is no event",
    ),
    "no text": ("name: job_name", "name: [job_name]", r"names no column"),
    "no column": ("name: job_name", "name: {times: 2}", r"names no column"),
    "no number": ("times: 1000", "times: -1", r"-1 is not a number above 0"),
    "two documents": ("nodes:\n", "---\nnodes:\n", "is no single document"),
    "no yaml": ("pods:\n", "pods: [\n", "cannot be read as YAML"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_name_the_line_of_the_mapping_or_the_row(fault: str, tmp_path: Path) -> None:
    old, new, message = FAULTS[fault]
    assert old in MAPPING
    with pytest.raises(InputError, match=message) as caught:
        read_trace(write(tmp_path, MAPPING.replace(old, new, 1)))
    assert caught.value.fix


ENDS = """\
pods:
  columns:
    submit: {from: submitted, unit: ms}
    start: {from: started, unit: ms}
    end: {from: ended, unit: ms, default: forever}
    min_count: need
    group: job
"""


def test_ends_become_run_times(tmp_path: Path) -> None:
    mapping = write(tmp_path, ENDS)
    table = tmp_path / "t.csv"
    table.write_text("submitted,started,ended,job,need\n0,10,30,x,1\n5,5,,x,1\n")
    trace = read_trace(mapping, table)
    assert trace.pods["run"].tolist() == [20_000, FOREVER]
    assert trace.pods["group"].tolist() == [0, 0]
    assert trace.min_count.tolist() == [1]
    table.write_text("submitted,started,ended,job,need\n0,10,3,x,1\n")
    with pytest.raises(InputError, match=r"t\.csv:2: ended: '3' is before the start"):
        read_trace(mapping, table)
    assert len(read_trace(mapping, table, on_fault="skip")) == 0
    with pytest.raises(InputError, match="no file is named"):
        read_trace(mapping)


def test_an_end_without_a_start_counts_from_the_arrival(tmp_path: Path) -> None:
    mapping = write(tmp_path, "pods:\n  columns: {submit: {from: a, unit: s}, end: {from: b, unit: s}}\n")
    table = tmp_path / "t.csv"
    table.write_text("a,b\n1,3\n5,2\n")
    with pytest.raises(InputError, match="before it arrives"):
        read_trace(mapping, table)
    assert read_trace(mapping, table, on_fault="skip").pods["run"].tolist() == [2 * SECOND]


GOOGLE = """\
origin: 600s
pods:
  format: jsonl
  # alloc sets reserve: tasks inside one would count twice
  where: {alloc_collection_id: ["0", null]}
  events:
    key: [collection_id, instance_index]
    type: type
    time: {from: time, unit: us}
    submit: [0]
    start: [3]
    end: [4, 5, 6, 7, 8]
  columns:
    priority: priority
    group: collection_id
    min_count: {value: 1}
  requests:
    cpu: {from: resource_request.cpus, times: 64000}
    memory: {from: resource_request.memory, times: 549755813888}
nodes:
  format: jsonl
  columns:
    name: machine_id
    time: {from: time, unit: us}
    event: {from: type, map: {1: join, 2: fail}}
  allocatable:
    cpu: {from: capacity.cpus, times: 64000, default: 0}
"""


def google_event(
    time: int, kind: int, collection: int, index: int = 0, alloc: str | None = "0"
) -> dict[str, object]:
    request = {"cpus": 0.5, "memory": 0.25} if kind == 0 else {"cpus": 0.125, "memory": 0.25}
    return {
        "time": str(time),
        "type": kind,
        "collection_id": str(collection),
        "instance_index": index,
        "priority": 200,
        "resource_request": request,
        "collection_type": 1 if collection == 1 else 0,
        **({} if alloc is None else {"alloc_collection_id": alloc}),
    }


def test_events_of_google_become_pods(tmp_path: Path) -> None:
    start = 600 * SECOND
    events = [
        google_event(0, 0, 1),  # an alloc set that is there before the trace
        google_event(0, 3, 1),
        *(google_event(start + 5, kind, 7, alloc="1") for kind in (0, 3, 6)),  # a task in it
        google_event(start + 10, 0, 2, alloc=None),
        google_event(start + 10, 1, 2),
        google_event(start + 20, 3, 2),
        google_event(start + 30, 4, 2),  # evicted, and submitted again
        google_event(start + 30, 0, 2),
        google_event(start + 50, 3, 2),
        google_event(start + 57, 6, 2),
        google_event(start + 15, 0, 2, 1),
        google_event(start + 16, 7, 2, 1),  # killed before it started
        google_event(start + 17, 6, 3),  # its submission is missing
    ]
    path = tmp_path / "instance_events.json"
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
    machines = [
        {"time": "0", "machine_id": "5", "type": 1, "capacity": {"cpus": 0.5}},
        {"time": "700000000", "machine_id": "5", "type": 2},
        {"time": "800000000", "machine_id": "5", "type": 1, "capacity": {"cpus": 0.5}},
        {"time": "800000000", "machine_id": "5", "type": 3, "capacity": {"cpus": 0.5}},
    ]
    nodes = tmp_path / "machine_events.json"
    nodes.write_text("".join(json.dumps(each) + "\n" for each in machines))
    trace = read_trace(write(tmp_path, GOOGLE), path, nodes)
    assert trace.pods["submit"].tolist() == [0, 10]
    assert trace.pods["run"].tolist() == [FOREVER, 7]
    assert trace.templates[trace.pods["template"][1]].requests == {"cpu": 32_000, "memory": 2**37}
    assert trace.node_events["event"].tolist() == [NodeEvent.JOIN, NodeEvent.FAIL, NodeEvent.REPAIRED]
    assert trace.node_events["time"].tolist() == [0, 100 * SECOND, 200 * SECOND]
    assert trace.capacity() == {"cpu": 32_000, "memory": 0}
    assert trace.treated == {
        "left out: where alloc_collection_id": 3,
        "left out: never submitted": 1,
        "left out: never started": 1,
        "started several times: the last start counts": 1,
        "without an end: never end": 1,
        "before the origin: arrive at 0": 1,
        "left out: other events of nodes": 1,
    }


@pytest.mark.parametrize(("line", "message"), [("{", "cannot be read as JSON"), ("[1]", "is not an object")])
def test_faults_of_json_lines(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(google_event(0, 0, 1)) + "\n" + line + "\n")
    with pytest.raises(InputError, match=message) as caught:
        read_trace(write(tmp_path, GOOGLE), path, path)
    assert caught.value.location.endswith("events.jsonl:2")
