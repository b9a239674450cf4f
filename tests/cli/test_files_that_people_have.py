"""Files in the forms that people have: a dry run does what a cluster would do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from schedframe import Simulation

from .conftest import Cli

Write = Callable[[str, str], str]

NODE = """
apiVersion: v1
kind: Node
metadata: {name: worker, labels: {kubernetes.io/hostname: worker}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20', nvidia.com/gpu: '1'}}
"""
CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: disks, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: disks.example.com
volumeBindingMode: WaitForFirstConsumer
"""
CLAIM = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
"""


def pod(name: str, container: str = "", **spec: str) -> str:
    parts = "".join(f"\n  {key}: {value}" for key, value in spec.items())
    inner = f", {container}" if container else ""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  containers: [{{name: main, image: 'registry.example/app:1'{inner}}}]{parts}
"""


MOUNTED = pod("db", volumes="[{name: data, persistentVolumeClaim: {claimName: data}}]")
SCRATCH = pod(
    "batch",
    volumes="[{name: tmp, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], "
    "resources: {requests: {storage: 1Gi}}}}}}]",
)
DEVICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: slice}
spec:
  driver: gpu.example.com
  nodeName: worker
  pool: {name: worker, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
"""
RUNTIME = """
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: vm}
handler: vm
overhead: {podFixed: {cpu: 500m}}
"""
LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, defaultRequest: {cpu: '3'}, default: {cpu: '3'}}]}
"""
FREE_VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: exported}
spec:
  capacity: {storage: 5Gi}
  accessModes: [ReadWriteOnce]
  nfs: {server: nfs.example, path: /a}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {generateName: import-}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: 'registry.example/app:1'}]}}}
"""
NESTED = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PodList
  items:
  - {metadata: {name: inner}, spec: {containers: [{name: main, image: 'registry.example/app:1'}]}}
"""
ALL, SOME = 0, 1

CASES: dict[str, tuple[list[str], int, int]] = {
    "a claim that waits for its pod": ([CLASS, CLAIM, MOUNTED], 1, ALL),
    "a claim of no class that is there": ([CLAIM, MOUNTED], 0, SOME),
    "an ephemeral volume of the default class": ([CLASS, SCRATCH], 1, ALL),
    "a volume without a class": (
        [FREE_VOLUME, CLAIM.replace("accessModes", "storageClassName: '', accessModes"), MOUNTED],
        1,
        ALL,
    ),
    "a claim from a template": (
        [DEVICES, pod("ml", resourceClaims="[{name: gpu, resourceClaimTemplateName: one-gpu}]")],
        1,
        ALL,
    ),
    "overhead of a runtime class": (
        [RUNTIME, pod("vm", "resources: {requests: {cpu: 3600m}}", runtimeClassName="vm")],
        0,
        SOME,
    ),
    "requests of a limit range": ([LIMITS, pod("a"), pod("b")], 1, SOME),
    "requests from limits": (
        [pod(name, "resources: {limits: {nvidia.com/gpu: '1'}}") for name in ("a", "b")],
        1,
        SOME,
    ),
    "ports of the host network": (
        [pod(name, "ports: [{containerPort: 80}]", hostNetwork="true") for name in ("a", "b")],
        1,
        SOME,
    ),
    "two jobs of one generateName": ([JOB, JOB], 2, ALL),
    "lists in lists": ([NESTED], 1, ALL),
}


@pytest.mark.parametrize("case", CASES)
def test_the_command_line_and_programs_place_what_a_cluster_places(case: str, cli: Cli, write: Write) -> None:
    documents, placed, code = CASES[case]
    text = "\n---".join([NODE, *documents])
    result = cli("schedule", write("files.yaml", text), "-o", "json")
    assert result.code == code, result.err
    manifests: list[Any] = [each for each in yaml.safe_load_all(text) if each]
    with Simulation(manifests) as simulation:
        answers = simulation.schedule()
        assert sum(each.node_name is not None for each in answers) == placed
        names = sorted(each.pod.name for each in answers)
    assert all(f'"{name}"' in result.out for name in names)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (JOB.replace("kind: Job", "kind: Jbo"), "did you mean Job?"),
        (JOB.replace("batch/v1", "batch/v7"), "write batch/v1"),
        (JOB.replace("batch/v1", "batch/v1beta1"), "Job"),
        (pod("p", "resources: {requests: {cpu: '2'}, limits: {cpu: '1'}}"), "above the limit"),
        (pod("p", "volumeMounts: [{name: x, mountPath: /x}]"), "no volume"),
        (pod("p", schedulingGates="[{name: example.com/wait}]", nodeName="worker"), "nodeName"),
        (pod("p", priorityClassName="nope"), "no PriorityClass nope"),
    ],
)
def test_what_a_server_refuses_is_refused(document: str, said: str, cli: Cli, write: Write) -> None:
    result = cli("schedule", write("files.yaml", f"{NODE}\n---{document}"))
    assert result.code in (2, 4)
    assert said in result.err
