"""Alibaba 2020, Azure 2020 and manifests: real columns, made-up rows, their traps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from schedframe import InputError
from schedframe.traces import FOREVER, read_alibaba_2020, read_azure_2020, read_manifests

SECOND = 1_000_000
DAY = 86_400 * SECOND

TABLES = {
    "pai_job_table": (
        "j1,i1,u1,Terminated,100.0,900.0\nj2,i2,u2,Running,150.0,\nj1,i9,u9,Failed,999.0,\nj3,i3,u3,Failed,,\n"
    ),
    "pai_task_table": (
        "j1,worker,3.0,Terminated,200.0,900.5,600.0,29.3,25.0,T4\n"
        "j1,ps,1.0,Terminated,200.0,900.0,100.0,,,\n"
        "j2,worker,2.0,Running,160.0,,600.0,29.3,100.0,P100\n"
        "j2,chief,1.0,Failed,140.0,170.0,600.0,29.3,100.0,P100\n"
        "j2,late,1.0,Failed,180.0,170.0,600.0,29.3,100.0,P100\n"
        "j3,worker,1.0,Failed,1.0,2.0,600.0,29.3,100.0,P100\n"
        "j4,worker,1.0,Terminated,1.0,2.0,600.0,29.3,100.0,P100\n"
    ),
    "pai_machine_spec": "m1,T4,96,512,2\nm2,CPU,96,512,0\n",
    "pai_group_tag_table": "i1,u1,T4,g1,bert\ni2,u2,,g2,\n",
}


def alibaba(folder: Path, **tables: str) -> Path:
    for name, text in {**TABLES, **tables}.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_tasks_of_alibaba_are_groups(tmp_path: Path) -> None:
    trace = read_alibaba_2020(alibaba(tmp_path))
    assert trace.pods["submit"].tolist() == [100 * SECOND] * 4 + [140 * SECOND]
    assert trace.pods["run"].tolist() == [700_500_000] * 3 + [700 * SECOND, 30 * SECOND]
    assert trace.pods["group"].tolist() == [0, 0, 0, -1, -1]
    assert trace.min_count.tolist() == [3]
    assert trace.pods.decoded("owner") == ["u1"] * 4 + ["u2"]
    template = trace.templates[trace.pods["template"][0]]
    assert template.requests == {
        "cpu": 6000,
        "memory": round(29.3 * 2**30),
        "alibabacloud.com/gpu-milli": 250,
    }
    assert template.only_on == {"alibabacloud.com/gpu-card-model": ("T4",)}
    assert trace.templates[trace.pods["template"][4]].only_on == {}
    assert trace.capacity()["alibabacloud.com/gpu-milli"] == 2000
    assert trace.pod(0).spec.scheduling_group is not None
    assert trace.pod_group(0).spec.scheduling_policy.gang.min_count == 3  # type: ignore[union-attr]
    assert trace.treated == {
        "left out: jobs without a start": 1,
        "left out: tasks whose job is in no table": 2,
        "left out: tasks that had not started or ended": 1,
        "left out: tasks that end before they start": 1,
        "launched before the submission of the job: submitted at the launch": 1,
    }


def test_a_head_in_a_table_of_alibaba_is_no_row(tmp_path: Path) -> None:
    head = "job_name,inst_id,user,status,start_time,end_time\n"
    folder = alibaba(tmp_path, pai_job_table=head + TABLES["pai_job_table"])
    assert len(read_alibaba_2020(folder)) == 5


def test_faults_of_alibaba_name_table_and_row(tmp_path: Path) -> None:
    folder = alibaba(
        tmp_path, pai_task_table=TABLES["pai_task_table"].replace("1.0,Terminated", "0.2,Terminated")
    )
    with pytest.raises(InputError, match=r"pai_task_table\.csv:2: inst_num: '0\.2' is below 1"):
        read_alibaba_2020(folder)
    (folder / "pai_job_table.csv").unlink()
    with pytest.raises(InputError, match=r"has no pai_job_table\.csv"):
        read_alibaba_2020(folder)


def azure(folder: Path, rows: list[tuple[object, ...]]) -> Path:
    path = folder / "packing.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE vm (vmId, tenantId, vmTypeId, priority, starttime REAL, endtime REAL)")
        database.execute("CREATE TABLE vmType (id, vmTypeId, machineId, core, memory, hdd, ssd, nic)")
        types = [
            (0, 7, 1, 0.25, 0.5, None, 0.1, 0.01),
            (1, 7, 2, 0.5, 0.5, 0.1, 0.0, 0.0),
            (2, 8, 2, 1.0, 1.0, 0, 0, 0),
        ]
        database.executemany("INSERT INTO vmType VALUES (?,?,?,?,?,?,?,?)", types)
        database.executemany("INSERT INTO vm VALUES (?,?,?,?,?,?)", rows)
        database.commit()
    return path


VMS: list[tuple[object, ...]] = [
    (1, "a", 7, 0, -1.5, 0.5),
    (2, "b", 7, 1, 0.25, None),
    (3, "a", 8, 1, 0.5, 0.5),
    (4, "a", 7, 1, -3.0, -1.0),
]


def test_machines_of_azure_are_fractions(tmp_path: Path) -> None:
    path = azure(tmp_path, VMS)
    trace = read_azure_2020(path, machines=3)  # kind 2 fits all
    assert trace.pods["submit"].tolist() == [0, DAY // 4, DAY // 2]
    assert trace.pods["run"].tolist() == [DAY // 2, FOREVER, 0]
    requests = trace.templates[trace.pods["template"][0]].requests
    assert requests == {"cpu": 50_000, "memory": 50 * 2**30, "azure.microsoft.com/hdd": 100_000}
    assert [trace.templates[each].priority for each in trace.pods["template"]] == [1000, 0, 0]
    assert trace.pods.decoded("owner") == ["a", "b", "a"]
    assert trace.pods.decoded("name") == ["vm-1", "vm-2", "vm-3"]
    assert len(trace.nodes) == 3
    assert trace.treated == {
        "left out: ended before the trace": 1,
        "ran before the trace: arrive at 0 with the rest of their time": 1,
        "run beyond the trace: never end": 1,
    }
    small = read_azure_2020(path, machine=1)
    assert len(small) == 2
    assert small.treated["left out: types that do not fit the machine"] == 1


def test_faults_of_azure(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"packing\.sqlite: row 2: endtime: 0\.1 is before starttime"):
        read_azure_2020(azure(tmp_path, [VMS[0], (2, "b", 7, 1, 0.25, 0.1)]))
    with pytest.raises(InputError, match="there is no kind 9; the kinds are 1, 2"):
        read_azure_2020(tmp_path / "packing.sqlite", machine=9)
    (tmp_path / "text").write_text("no database")
    with pytest.raises(InputError, match="cannot be read as this trace"):
        read_azure_2020(tmp_path / "text")


MANIFESTS = """\
apiVersion: v1
kind: List
items:
- kind: Node
  metadata: {name: n0, creationTimestamp: "2026-01-01T00:00:00Z"}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
- kind: Node
  metadata: {name: n1, creationTimestamp: "2026-01-02T00:01:00Z"}
  status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
- kind: Pod
  metadata: {name: a, namespace: shop, creationTimestamp: "2026-01-02T00:00:00.250Z"}
  spec: {nodeName: n0, priority: 7, containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
  status:
    startTime: "2026-01-02T00:00:10Z"
    containerStatuses: [{name: c, state: {terminated: {finishedAt: "2026-01-02T00:01:10Z", exitCode: 0}}}]
- kind: Pod
  metadata: {name: b, namespace: shop, creationTimestamp: "2026-01-02T00:00:20Z"}
  spec: {nodeName: n1, priority: 7, containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
  status: {startTime: "2026-01-02T00:00:21Z", containerStatuses: [{name: c, state: {running: {}}}]}
- kind: Pod
  metadata: {name: c, annotations: {schedframe/arrives: 90s, schedframe/runs: 1h}}
  spec: {containers: [{name: c}], schedulingGroup: {podGroupName: g}}
- kind: Pod
  metadata: {name: d}
  spec: {containers: [{name: c}], schedulingGroup: {podGroupName: g}}
"""


def test_manifests_have_times(tmp_path: Path) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(MANIFESTS)
    trace = read_manifests(path)
    assert trace.epoch == 1_767_312_000
    assert trace.pods.decoded("name") == ["d", "a", "b", "c"]
    assert trace.pods["submit"].tolist() == [0, 250_000, 20 * SECOND, 90 * SECOND]
    assert trace.pods["run"].tolist() == [FOREVER, 60 * SECOND, FOREVER, 3600 * SECOND]
    assert trace.pods["template"][1] == trace.pods["template"][2]
    assert trace.pod(1).spec.node_name == ""
    assert (trace.pod(1).priority, trace.pod(1).requests["cpu"]) == (7, 500)
    assert trace.node_events["time"].tolist() == [0, 60 * SECOND]
    assert trace.node(1).allocatable["pods"] == 20
    assert trace.pods["group"].tolist() == [0, -1, -1, 0]
    assert trace.min_count.tolist() == [2]
    assert trace.treated == {"without an arrival: arrive at 0": 1, "without an end: never end": 2}
    doubled = trace.scale(requests={"cpu": 2})
    assert doubled.pod(1).requests["cpu"] == 1000


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'finishedAt: "2026-01-02T00:01:10Z"',
            'finishedAt: "2026-01-02T00:00:00Z"',
            "end before status.startTime",
        ),
        ("arrives: 90s", "arrives: soon", "'soon' is not a span of time"),
        ("00:00:20Z", "00:00", "is not a timestamp"),
    ],
)
def test_faults_of_manifests_name_the_item(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.yaml"
    path.write_text(MANIFESTS.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        read_manifests(path)
    assert "dump.yaml" in caught.value.location
    assert len(read_manifests(path, on_fault="skip")) == 3
