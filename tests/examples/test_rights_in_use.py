"""The rights that ``schedframe rbac`` prints cover every request of a scheduler that uses them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("aiohttp", reason="the extra kubernetes is not installed")
pytest.importorskip("msgspec", reason="the extra kubernetes is not installed")

from schedframe import Scheduler
from schedframe.cli.rbac import manifests
from schedframe.cluster.kubernetes import KubernetesCluster
from schedframe.testing import node, pod
from schedframe.testing.api_server import ApiServer

CONFIG = Path(__file__).parents[2] / "examples" / "11-on-kubernetes" / "config.yaml"
NOT_IN_THIS_RUN = {
    ("create", "authentication.k8s.io", "tokenreviews"),
    ("create", "authorization.k8s.io", "subjectaccessreviews"),
    ("patch", "resource.k8s.io", "resourceclaims/binding"),
    ("create", "coordination.k8s.io", "leases"),
    ("update", "coordination.k8s.io", "leases"),
    ("patch", "", "persistentvolumeclaims"),
    ("delete", "resource.k8s.io", "resourceclaims"),
    ("patch", "events.k8s.io", "events"),
}
"""Reviews of users of the pages; the right that the server asks for beside a change of a claim's status;
the lease of ``run``; the node of a volume to be provisioned, a claim whose bind failed, a second equal event.
"""

CLAIMS = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: dev}
spec: {extendedResourceName: example.com/dev}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example
  nodeName: n
  pool: {name: p, generation: 1, resourceSliceCount: 1}
  devices: [{name: d0}, {name: d1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim, namespace: default}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: dev}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: claims, namespace: default}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: r}]}}]
  resourceClaims: [{name: r, resourceClaimName: claim}]
---
apiVersion: v1
kind: Pod
metadata: {name: extended, namespace: default}
spec:
  containers: [{name: c, image: i, resources: {requests: {example.com/dev: 1}, limits: {example.com/dev: 1}}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: late, local: {path: /v}}
status: {phase: Available}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: v, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: volume, namespace: default}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: v}}]
"""


def granted() -> set[tuple[str, str, str]]:
    """Return (verb, group, resource) of all rules."""
    rules: list[dict[str, Any]] = []
    for each in yaml.safe_load_all(manifests(CONFIG, "python-scheduler", "kube-system", [])):
        rules += each.get("rules", ())
    return {
        (verb, group, resource)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def used(server: ApiServer, user: str) -> Iterator[tuple[str, str, str]]:
    for each in server.requests:
        if each.user == user and each.verb and each.kind is not None:
            yield each.verb, each.kind.api_version.rpartition("/")[0], each.resource


def test_every_request_is_covered_and_no_write_is_without_a_use(tmp_path: Path) -> None:
    with ApiServer() as server:
        server.create(node("n").allocatable(cpu="2", memory="8Gi", pods="50"))
        server.create(pod("low").requests(cpu="1500m"))
        for each in yaml.safe_load_all(CLAIMS):
            server.create(each)
        kubeconfig = server.kubeconfig(tmp_path / "kubeconfig", user="scheduler")
        with KubernetesCluster.from_kubeconfig(kubeconfig) as cluster, Scheduler(cluster) as scheduler:
            wanted = {"delete pods", "patch resourceclaims", "patch persistentvolumes"}

            def all_is_done() -> bool:
                scheduler.run_until_idle()
                if server.get("Pod", "default/high") is None and bound(server, "low"):
                    server.create(pod("high").requests(cpu="1500m").priority(1000))
                seen = {f"{verb} {resource}" for verb, _, resource in used(server, "scheduler")}
                return wanted <= seen and bound(server, "claims") and bound(server, "extended")

            server.wait_for(all_is_done)
        requests = set(used(server, "scheduler"))
    assert requests - granted() == set()
    writes = {right for right in granted() if right[0] not in ("get", "list", "watch")}
    assert writes - requests == NOT_IN_THIS_RUN


def bound(server: ApiServer, name: str) -> bool:
    found = server.get("Pod", f"default/{name}")
    return found is not None and bool(found["spec"].get("nodeName"))
