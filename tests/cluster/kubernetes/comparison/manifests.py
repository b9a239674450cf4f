"""The objects of the comparison. In each wave the order of the pods makes no difference to any of them.

Each pod that can be placed has one node that is best for it, so both schedulers must choose the same.
"""

from __future__ import annotations

from typing import Any, Final

from attrs import field, frozen

from .cluster import (
    GPU,
    HOST,
    PLAIN_NODES,
    VICTIM_NODES,
    ZONE,
    Obj,
    budgets,
    classes,
    devices,
    nodes,
    volumes,
)

ONE_BY_ONE: Final = 3
"""Pods that preempt while no other does."""


@frozen
class Wave:
    """What is done at once; the next wave begins when the scheduler has nothing more to say."""

    name: str
    objects: tuple[Obj, ...] = ()
    """Manifests to create, in this order."""
    patches: tuple[tuple[str, str, Obj], ...] = ()
    """Kind, key and merge patch of objects to change."""
    ends_pods: bool = field(default=False)
    """Whether the pods that are being deleted end now."""


def waves() -> list[Wave]:
    """Return the waves in their order."""
    ungated = [("Pod", f"default/gated-{n}", {"spec": {"schedulingGates": None}}) for n in range(4)]
    late = ("Node", "late-0", {"metadata": {"labels": {"late": "yes"}}})
    return [
        Wave("cluster", (*nodes(), *classes(), *volumes(), *devices(), *budgets())),
        Wave("placed", tuple(placed())),
        *[wave for n in range(ONE_BY_ONE) for wave in preempted(n)],
        Wave("rejected", tuple(rejected())),
        Wave("changed", patches=(*ungated, late)),
        Wave("preempting", tuple(preempting())),
    ]


# ---- pods ------------------------------------------------------------------------------------------------


def pod(
    name: str, pool: str = "", *, labels: dict[str, str] | None = None, ask: Obj | None = None, **spec: Any
) -> Obj:
    """Return a pod for the nodes of one pool (of any, without one) that asks for the amounts *ask*."""
    selector = {"nodeSelector": {"pool": pool}} if pool else {}
    resources = {"requests": ask or {"cpu": "100m"}}
    if any("/" in name for name in resources["requests"]):
        resources["limits"] = resources["requests"]
    container = {"name": "c", "image": "registry.example/pause:3", "resources": resources}
    containers = {"containers": [container], "terminationGracePeriodSeconds": 30}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
        "spec": {**containers, **selector, **spec},
    }


def with_port(name: str, pool: str, port: int) -> Obj:
    """Return a pod with a port of its node."""
    made = pod(name, pool)
    made["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port, "protocol": "TCP"}]
    return made


def with_claim(name: str, pool: str, claim_name: str, **spec: Any) -> Obj:
    """Return a pod with a volume."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}
    return pod(name, pool, volumes=[volume], **spec)


def with_device(name: str, pool: str, claim_name: str, field: str = "resourceClaimName") -> Obj:
    """Return a pod with a claim for devices."""
    made = pod(name, pool, resourceClaims=[{"name": "d", field: claim_name}])
    made["spec"]["containers"][0]["resources"]["claims"] = [{"name": "d"}]
    return made


def needs(*expressions: tuple[str, str, list[str]], field: str = "matchExpressions") -> Obj:
    """Return a required node affinity."""
    terms = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    required = {"nodeSelectorTerms": [{field: terms}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def near(kind: str, app: str, key: str = HOST) -> Obj:
    """Return a required ``podAffinity`` or ``podAntiAffinity`` to the pods of *app*."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(app: str, policy: str = "Honor") -> Obj:
    """Return a constraint that spreads the pods of *app* over zones; *policy*: which zones count."""
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    constraint |= {"labelSelector": {"matchLabels": {"app": app}}, "nodeAffinityPolicy": policy}
    return {"topologySpreadConstraints": [constraint]}


def host(name: str) -> Obj:
    """Return the selector of one node."""
    return {"nodeSelector": {HOST: name}}


TOLERATES: Final = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}


def placed() -> list[Obj]:
    """Return pods that have a node at once."""
    made = [pod(f"plain-{n}", **host(f"plain-{n % PLAIN_NODES}")) for n in range(55)]
    made += [pod(f"batch-{n}", "tainted", **TOLERATES) for n in range(5)]
    made += [
        pod("affinity-in", **needs(("pool", "In", ["friends", "none"]))),
        pod("affinity-field", **needs(("metadata.name", "In", ["plain-3"]), field="matchFields")),
        pod("affinity-two", **needs(("pool", "Exists", []), (HOST, "In", ["plain-4"]))),
        with_port("port-first", "ports", 8080),
        with_port("port-other", "ports", 8081),
        pod("only", "pods"),
        pod("friend-first", "friends", labels={"app": "friend"}),
        pod("lonely-first", "lonely", labels={"app": "lonely"}, **near("podAntiAffinity", "lonely")),
        pod("guard", "guarded", labels={"app": "guard"}, **near("podAntiAffinity", "noisy")),
        with_claim("claim-home", "claims", "home"),
        with_claim("claim-one", "claims", "only-one"),
        with_claim("attached-first", "limited", "attached"),
        with_device("device-first", "devices", "device-0"),
        with_device("device-second", "devices", "device-1"),
    ]
    made += [pod(f"gpu-{n}", "gpu", ask={GPU: "1"}) for n in range(2)]
    made += [
        pod(f"spread-{n}", labels={"app": "spread"}, **host(f"spread-{n // 2}"))  # two in each zone
        for n in range(4)
    ]
    made += [pod("skewed", labels={"app": "skewed"}, **host("spread-0"))]
    for number in range(VICTIM_NODES):
        labels = {"budget": "kept"} if number % 3 == 0 else {}
        low = {"priorityClassName": "low", "labels": labels}
        made.append(pod(f"victim-{number}", f"victim-{number}", ask={"cpu": "1500m"}, **low))
        made.append(pod(f"bystander-{number}", f"victim-{number}", ask={"cpu": "200m"}, **low))
    return made


def preempted(number: int) -> list[Wave]:
    """Return the waves of one pod that takes the place of another.

    With several at a time, the end of each victim lets all of them try again; how often they fail until it is
    their turn depends on the moment.
    """
    return [
        Wave(f"preempting-{number}", (vip(number, "1"),)),
        Wave(f"ended-{number}", ends_pods=True),
    ]


def preempting() -> list[Obj]:
    """Return pods that wait for the end of their victims; some need the room of both pods of their nodes."""
    return [vip(number, "1") for number in range(ONE_BY_ONE, 8)] + [
        vip(number, "1900m") for number in range(8, 11)
    ]


def vip(number: int, cpu: str) -> Obj:
    """Return a pod that preempts."""
    return pod(f"vip-{number}", f"victim-{number}", ask={"cpu": cpu}, priorityClassName="high")


def rejected() -> list[Obj]:
    """Return pods that have no node, for the reasons of all plugins, and gated ones."""
    gates = {"schedulingGates": [{"name": "example.com/quota"}]}
    made = [pod(f"gated-{n}", **host(f"plain-{n}"), **gates) for n in range(8)]
    for n in range(3):
        made += [
            pod(f"no-pool-{n}", f"none-{n}"),
            pod(f"no-cpu-{n}", ask={"cpu": str(20 + n)}),
            pod(f"no-memory-{n}", ask={"memory": f"{30 + n}Gi"}),
            pod(f"no-disk-{n}", ask={"ephemeral-storage": f"{30 + n}Gi"}),
            pod(f"no-gpu-{n}", "gpu", ask={GPU: "1"}),
            pod(f"no-such-resource-{n}", ask={"example.com/none": "1"}),
            pod(f"no-cpu-and-memory-{n}", ask={"cpu": "20", "memory": "30Gi"}),
            pod(f"cordoned-{n}", "cordoned"),
            pod(f"untolerated-{n}", "tainted"),
            pod(f"too-many-{n}", "pods"),
            pod(f"not-in-{n}", **needs(("pool", "In", ["none"]))),
            with_port(f"port-taken-{n}", "ports", 8080),
            pod(f"unpaired-{n}", **near("podAffinity", f"absent-{n}")),
            pod(f"lonely-{n}", "lonely", labels={"app": "lonely"}, **near("podAntiAffinity", "lonely")),
            pod(f"noisy-{n}", "guarded", labels={"app": "noisy"}),
            pod(f"unzoned-{n}", "unzoned", labels={"app": "spread"}, **spread("spread")),
            pod(f"skewed-{n}", labels={"app": "skewed"}, **host("spread-0"), **spread("skewed", "Ignore")),
            with_claim(f"no-claim-{n}", "", f"missing-{n}"),
            with_device(f"no-device-claim-{n}", "", f"missing-{n}"),
            pod(f"patient-{n}", "victim-11", ask={"cpu": "1"}, priorityClassName="patient"),
            pod(f"hopeless-{n}", "victim-11", ask={"cpu": "3"}, priorityClassName="high"),
        ]
    made += [
        with_claim("claim-unbound", "", "unbound"),
        with_claim("claim-waiting", "claims", "waiting"),
        with_claim("claim-too-large", "", "too-large"),
        with_claim("claim-away", "claims", "away"),
        with_claim("claim-zoned", "claims", "zoned"),
        with_claim("claim-one-too", "claims", "only-one"),
        with_claim("attached-too", "limited", "attached-too"),
        with_device("device-third", "devices", "device-2"),
        with_device("device-elsewhere", "plain", "device-2"),
        with_device("device-unknown", "devices", "device-unknown"),
        with_device("device-template", "devices", "no-template", "resourceClaimTemplateName"),
        pod("late", ask={"cpu": "3"}, nodeSelector={"late": "yes"}),
        pod("too-late", ask={"cpu": "3"}, nodeSelector={"late": "no"}),
    ]
    return made
