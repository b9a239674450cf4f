"""Small random clusters, random changes of them, and all that a revert has to set back."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from schedframe import Handle, Pod, Status, hookimpl
from schedframe.fork import Fork

Manifest = dict[str, Any]
HOSTNAME = "kubernetes.io/hostname"
GROUPS = ("loose", "gang")
CLAIMS = ("one", "two", "three")


def node_manifest(name: str, rng: Random) -> Manifest:
    allocatable = {"cpu": rng.choice("24"), "memory": "8Gi", "pods": rng.choice(("3", "10"))}
    if rng.random() < 0.3:
        allocatable["example.com/gpu"] = "2"
    images = [{"names": [rng.choice("ab")], "sizeBytes": rng.choice((10**8, 5 * 10**8))}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"zone": rng.choice("abc"), HOSTNAME: name}},
        "spec": {
            "taints": [{"key": "t", "effect": "NoSchedule"}] if rng.random() < 0.2 else [],
            "unschedulable": rng.random() < 0.1,
        },
        "status": {"allocatable": allocatable, "images": images if rng.random() < 0.5 else []},
    }


def pod_manifest(name: str, rng: Random, node_name: str = "") -> Manifest:
    app = rng.choice("xyz")
    requests = {"cpu": rng.choice(("100m", "500m", "1"))}
    if rng.random() < 0.1:
        requests["example.com/gpu"] = "1"
    container: Manifest = {"name": "c", "image": rng.choice("abz"), "resources": {"requests": requests}}
    if rng.random() < 0.1:
        container["ports"] = [{"containerPort": 80, "hostPort": 80}]
    metadata: Manifest = {"name": name, "labels": {"app": app}}
    if rng.random() < 0.5:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
        metadata["ownerReferences"] = [owner]
    if node_name and rng.random() < 0.3:
        metadata["finalizers"] = ["example.com/slow"]  # when it is evicted, it stays and is marked
    spec = {"containers": [container], "priority": rng.choice((0, 0, 0, 5, 10)), "nodeName": node_name}
    if rng.random() < 0.2:
        spec["tolerations"] = [{"operator": "Exists"}]
    if rng.random() < 0.25:
        spec["schedulingGroup"] = {"podGroupName": rng.choice(GROUPS)}  # counts only with its feature gate
    if rng.random() < 0.25:
        claim = {"claimName": rng.choice(CLAIMS)}
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": claim}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec | _terms(app, rng)}


def _terms(app: str, rng: Random) -> Manifest:
    """Terms that count other pods, for about half of the pods."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": rng.choice((HOSTNAME, "zone"))}
    match rng.randrange(8):
        case 0:
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            return {"affinity": {"podAntiAffinity": required}}
        case 1:
            preferred = [{"weight": 5, "podAffinityTerm": term}]
            return {
                "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
            }
        case 2 | 3:
            unless = rng.choice(("DoNotSchedule", "ScheduleAnyway"))
            return {"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": unless, **term}]}
    return {}


class WaitsInPermit:
    """Lets a share of the pods wait in permit, and allows them when another pod comes."""

    def __init__(self, args: object = None, handle: Handle | None = None) -> None:
        assert handle is not None
        self.handle = handle

    @hookimpl
    def permit(self, pod: Pod) -> Status | None:
        """Return Wait for a pod with the label app=x; else allow those that wait."""
        if pod.labels.get("app") == "x":
            return Status.wait(60)
        for waiting in self.handle.waiting_pods:
            waiting.allow(type(self).__name__)
        return None


def surroundings() -> list[Manifest]:
    """Return groups, of which one is a gang, and claims with volumes that are bound when a pod comes."""
    late = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"]}
    policies = ({"basic": {}}, {"gang": {"minCount": 2}})
    groups = [
        {"kind": "PodGroup", "metadata": {"name": name}, "spec": {"schedulingPolicy": policy}}
        for name, policy in zip(GROUPS, policies, strict=True)
    ]
    claims = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name},
            "spec": {**late, "resources": {"requests": {"storage": "1Gi"}}},
        }
        for name in CLAIMS
    ]
    volumes = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"volume{i}"},
            "spec": {**late, "capacity": {"storage": "2Gi"}, "csi": {"driver": "d", "volumeHandle": f"h{i}"}},
            "status": {"phase": "Available"},
        }
        for i in range(2)
    ]
    late_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return [late_class, *claims, *volumes, *groups]


def random_fork(seed: int, **options: Any) -> Fork:
    """Return a fork of a few nodes and pods; equal seeds give equal forks."""
    rng = Random(seed)
    nodes = [node_manifest(f"n{i}", rng) for i in range(rng.randrange(1, 9))]
    pods = [pod_manifest(f"old{i}", rng, f"n{rng.randrange(len(nodes))}") for i in range(rng.randrange(12))]
    return Fork.of([*surroundings(), *nodes, *pods], seed=seed, strict=False, **options)


def random_change(fork: Fork, name: str, rng: Random) -> None:
    """Change or ask something; *name* is that of a pod that may be created."""
    nodes = [each.name for each in fork.cluster.list("Node")]
    pods = fork.cluster.list("Pod")
    placed = [pod.key for pod in pods if pod.node_name]
    changes: list[Callable[[], object]] = [
        lambda: fork.add(node_manifest(f"n{rng.randrange(12)}", rng)),
        lambda: fork.add(pod_manifest(name, rng)),
        fork.schedule,
        lambda: fork.schedule([pod_manifest(name, rng)]),
        lambda: fork.would_fit(pod_manifest(name, rng)),
    ]
    if nodes:
        changes += [
            lambda: fork.remove_node(rng.choice(nodes), rng.choice(("reschedule", "delete"))),
            lambda: fork.drain(rng.choice(nodes)),
            lambda: fork.cordon(rng.choice(nodes), rng.random() < 0.5),
        ]
    if pods:
        changes.append(lambda: fork.remove("Pod", rng.choice(pods).key))
    if placed:
        changes.append(lambda: fork.evict(rng.choice(placed)))
    rng.choice(changes)()


def state_of(fork: Fork) -> dict[str, Any]:
    """Return all that a revert has to set back: equal values mean equal decisions from then on."""
    core = fork.scheduler.core
    table, sampling = core.cache.table, core.search.sampling
    return {
        "rows": [
            (name, table.node_at(row), [*table.pods_at(row).items()])
            for row, name in enumerate(table._names[: table.size])
        ],
        "free rows": [*table._free],
        "states": {
            uid: (each.pod, each.node_name, each.assumed, each.deadline)
            for uid, each in core.cache.states.items()
        },
        "order": core.cache.order.names() if core.cache.ordered else [],
        "objects": {kind: [*by_key.items()] for kind, by_key in core.objects._objects.items() if by_key},
        "cluster": {kind: [*by_key.items()] for kind, by_key in fork.cluster._objects.items() if by_key},
        "pending": [*core.pending.items()],
        "nominations": {name: [*pods] for name, pods in core.queue.nominator._by_node.items()},
        "under way": ([*core.binding], len(core.waiting), len(core.paused), [*core.timers.actions]),
        "generator": core.rng.getstate(),
        "sampling": 0 if sampling is None else sampling.next_start,
        "answers": (str(fork.diff()), fork.notes(), fork.refused, dict(fork.given)),
    }


def decisions_of(fork: Fork) -> dict[str, Any]:
    """Return :func:`state_of` by names: uids and versions go on counting in trials."""
    state = state_of(fork)
    return {
        "rows": [(name, node is None, [pod.key for _, pod in pods]) for name, node, pods in state["rows"]],
        "free rows": state["free rows"],
        "order": state["order"],
        "pending": [key for key, _ in state["pending"]],
        "nominations": {name: len(uids) for name, uids in state["nominations"].items()},
        "generator": state["generator"],
        "sampling": state["sampling"],
        "answers": state["answers"][0],
    }


def check(fork: Fork) -> None:
    """Check that nothing contradicts itself."""
    core = fork.scheduler.core
    core.cache.check_invariants()
    core.queue.nominator.check_invariants()
    fork.cluster.check_invariants()
