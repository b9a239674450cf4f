"""What controllers make of workloads and claims (``Controllers`` in data/README.md), in a simulation."""

from __future__ import annotations

import json
from typing import Any, Final

from schedframe import Simulation
from schedframe.api import PersistentVolumeClaim, Pod, to_manifest

from .corpus import Case
from .difference import as_json, differences

HASHES: Final = frozenset(
    {
        "batch.kubernetes.io/controller-uid",
        "controller-revision-hash",
        "controller-uid",
        "pod-template-generation",
        "pod-template-hash",
    }
)
"""Labels whose values are hashes or uids."""
SPEC: Final = (
    "affinity",
    "hostNetwork",
    "hostname",
    "nodeSelector",
    "priority",
    "subdomain",
    "tolerations",
    "topologySpreadConstraints",
)
"""Fields of a pod's spec that are compared as they are."""
ANY: Final = "*"
OTHERS: Final = ""
"""Claims that workloads and pods make."""


def compare(case: Case) -> list[str]:
    """The differences between ``case["expect"]`` and what a simulation has after all was added."""
    with Simulation(case["cluster"]) as simulation:
        simulation.add(*case["objects"])
        return record_differences(case, record_of(simulation))


def record_differences(case: Case, record: dict[str, Any]) -> list[str]:
    """The differences between ``case["expect"]`` and *record*, which has the same form.

    Of several volumes that are equal for a claim, the controller takes any: the order of its index is random.
    """
    equals = equal_volumes(case)
    expected, actual = (as_json(comparable(each, equals)) for each in (case["expect"], record))
    return list(differences("", expected, actual))


def record_of(simulation: Simulation) -> dict[str, Any]:
    """What is there, in the form of the data."""
    pods: list[Pod] = simulation.cluster.list("Pod")
    claims: list[PersistentVolumeClaim] = simulation.cluster.list("PersistentVolumeClaim")
    return {
        "pods": [pod_record(pod) for pod in pods],
        "claims": [claim_record(claim, pods) for claim in claims],
        "resource_claims": len(simulation.cluster.list("ResourceClaim")),
    }


def comparable(record: dict[str, Any], equals: dict[tuple[str, str], str]) -> dict[str, Any]:
    """*record* without its order, and without the hashes that no other implementation can have."""
    pods = [
        {**pod, "generate_name": prefix(pod["generate_name"], pod["owner"], pod["labels"])}
        for pod in record["pods"]
    ]
    claims = [as_equal(claim, equals) for claim in record["claims"]]
    return {**record, "pods": in_order(pods), "claims": in_order(claims)}


def equal_volumes(case: Case) -> dict[tuple[str, str], str]:
    """Claim and volume → the first volume by name that is as good for that claim."""
    selectors = {
        claim["metadata"]["name"]: "selector" in claim["spec"]
        for claim in case["objects"]
        if claim["kind"] == "PersistentVolumeClaim"
    }
    volumes = [each for each in case["cluster"] if each["kind"] == "PersistentVolume"]
    equals = {}
    for claim in [*selectors, OTHERS]:
        first: dict[str, str] = {}
        for volume in sorted(volumes, key=lambda each: str(each["metadata"]["name"])):
            spec = {key: value for key, value in volume["spec"].items() if key != "hostPath"}
            labels = volume["metadata"].get("labels") if selectors.get(claim, True) else None
            name = volume["metadata"]["name"]
            equals[claim, name] = first.setdefault(json.dumps([spec, labels], sort_keys=True), name)
    return equals


def as_equal(claim: dict[str, Any], equals: dict[tuple[str, str], str]) -> dict[str, Any]:
    name = claim["name"] if (claim["name"], claim["volume"]) in equals else OTHERS
    return {**claim, "volume": equals.get((name, claim["volume"]), claim["volume"])}


def in_order(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(records, key=lambda record: json.dumps(as_json(record), sort_keys=True))


def prefix(generated: str | None, owner: str, labels: dict[str, str]) -> str | None:
    """The prefix of a name, with the hash of a replica set of a deployment as ``*``."""
    if generated is None or owner != "ReplicaSet" or "pod-template-hash" not in labels:
        return generated
    return f"{generated.rstrip('-').rpartition('-')[0]}-{ANY}-"


def pod_record(pod: Pod) -> dict[str, Any]:
    manifest = to_manifest(pod)
    metadata, spec = manifest["metadata"], manifest["spec"]
    owner = metadata["ownerReferences"][0]["kind"]
    labels = {key: ANY if key in HASHES else value for key, value in metadata.get("labels", {}).items()}
    compared = {key: spec[key] for key in SPEC if spec.get(key) not in (None, "", [], {}, False)}
    compared["priority"] = spec.get("priority")
    compared["volumes"] = [volume_record(volume) for volume in spec.get("volumes", ())]
    for constraint in compared.get("topologySpreadConstraints", ()):
        for expression in constraint.get("labelSelector", {}).get("matchExpressions", ()):
            if expression["key"] in HASHES:
                expression["values"] = [ANY]
    return {
        "name": pod.name if owner == "StatefulSet" else None,
        "generate_name": metadata.get("generateName"),
        "labels": labels,
        "owner": owner,
        "spec": compared,
    }


def volume_record(volume: dict[str, Any]) -> dict[str, Any]:
    if "persistentVolumeClaim" in volume:
        return {"name": volume["name"], "claim": volume["persistentVolumeClaim"]["claimName"]}
    return {"name": volume["name"], "ephemeral": True}


def claim_record(claim: PersistentVolumeClaim, pods: list[Pod]) -> dict[str, Any]:
    owners = claim.metadata.owner_references
    name = claim.name
    if owners:
        pod = next(pod for pod in pods if pod.uid == owners[0].uid)
        name = f"{ANY}{name.removeprefix(pod.name)}"
    return {
        "name": name,
        "owner": owners[0].kind if owners else None,
        "labels": dict(claim.labels),
        "storage_class": claim.spec.storage_class_name,
        "phase": claim.status.phase,
        "volume": claim.spec.volume_name or None,
    }
