"""One decision of every predicate of v1.15 and v1.17, made by the plugins that replace it."""

from __future__ import annotations

from typing import Any

import pytest

from plugins_builtin.legacy.config import migrate
from plugins_builtin.legacy.config.names import MANDATORY, PREDICATES
from schedframe import Simulation

from .manifests import HOSTNAME, best, node, node_with, pod, policy, service, thing

NAMES = [
    "CheckNodeCondition",
    "CheckNodeDiskPressure",
    "CheckNodeLabelPresence",
    "CheckNodeMemoryPressure",
    "CheckNodePIDPressure",
    "CheckNodeUnschedulable",
    "CheckServiceAffinity",
    "CheckVolumeBinding",
    "EvenPodsSpread",
    "GeneralPredicates",
    "HostName",
    "MatchInterPodAffinity",
    "MatchNodeSelector",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxCinderVolumeCount",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "NoDiskConflict",
    "NoVolumeZoneConflict",
    "PodFitsHostPorts",
    "PodFitsPorts",
    "PodFitsResources",
    "PodToleratesNodeNoExecuteTaints",
    "PodToleratesNodeTaints",
]
SELF = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": HOSTNAME}
PORT = [{"containerPort": 80, "hostPort": 80}]
DISK = [{"name": "d", "gcePersistentDisk": {"pdName": "one"}}]
SPREAD = {
    "maxSkew": 1,
    "topologyKey": HOSTNAME,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": SELF["labelSelector"],
}
FIRST = node("first", {"unschedulable": True}, good="yes")
FULL = pod("there", "2", nodeName="bad")
ZONE = "topology.kubernetes.io/zone"
USES_CLAIM = [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}]


def tainted(key: str, effect: str = "NoSchedule") -> tuple[list[Any], dict[str, Any]]:
    return [node("bad", {"taints": [{"key": key, "effect": effect}]})], pod()


def disks(source: str, field: str, resource: str) -> tuple[list[Any], dict[str, Any]]:
    """Return a node that has as many disks as it can, and a pod with another one."""
    more = {"diskURI": "u"} if source == "azureDisk" else {}
    volumes = [[{"name": "v", source: {field: name, **more}}] for name in ("old", "new")]
    return [node_with("bad", {resource: "1"}), pod("there", nodeName="bad", volumes=volumes[0])], pod(
        volumes=volumes[1]
    )


def bound(**volume: Any) -> list[Any]:
    """Return a claim bound to a volume, both of the class ``k``."""
    common = {"storageClassName": "k", "accessModes": ["ReadWriteOnce"]}
    claim = {**common, "volumeName": "pv", "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    spec = {**common, "capacity": {"storage": "1Gi"}, **volume.pop("spec", {})}
    spec["claimRef"] = {"namespace": "default", "name": "c"}
    storage_class = thing("StorageClass", "k", provisioner="kubernetes.io/no-provisioner")
    status = {"phase": "Bound"}
    return [
        thing("PersistentVolumeClaim", "c", claim, metadata=metadata, status=status),
        thing("PersistentVolume", "pv", spec, status=status, **volume),
        storage_class,
    ]


def only_on_good() -> dict[str, Any]:
    expression = {"key": "good", "operator": "In", "values": ["yes"]}
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, "local": {"path": "/d"}}


def csi(name: str) -> dict[str, Any]:
    return {"csi": {"driver": "d.example.com", "volumeHandle": name}}


def limited_by_csi() -> tuple[list[Any], dict[str, Any]]:
    driver = {"name": "d.example.com", "nodeID": "bad", "allocatable": {"count": 0}}
    csi_node = thing("CSINode", "bad", {"drivers": [driver]})
    return [node("bad"), csi_node, *bound(spec=csi("h"))], pod(volumes=USES_CLAIM)


DECISIONS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "CheckNodeUnschedulable": ([node("bad", {"unschedulable": True})], pod()),
    "GeneralPredicates": ([node("bad"), FULL], pod()),
    "HostName": ([node("bad")], pod(affinity={})),
    "PodFitsHostPorts": ([node("bad"), pod("there", "1", PORT, nodeName="bad")], pod(ports=PORT)),
    "PodFitsPorts": ([node("bad"), pod("there", "1", PORT, nodeName="bad")], pod(ports=PORT)),
    "MatchNodeSelector": ([node("bad")], pod(nodeSelector={"good": "yes"})),
    "PodFitsResources": ([node("bad"), FULL], pod()),
    "NoDiskConflict": ([node("bad"), pod("there", nodeName="bad", volumes=DISK)], pod(volumes=DISK)),
    "PodToleratesNodeTaints": tainted("k"),
    "PodToleratesNodeNoExecuteTaints": tainted("k", "NoExecute"),
    "CheckNodeCondition": tainted("node.kubernetes.io/not-ready"),
    "CheckNodeMemoryPressure": tainted("node.kubernetes.io/memory-pressure"),
    "CheckNodeDiskPressure": tainted("node.kubernetes.io/disk-pressure"),
    "CheckNodePIDPressure": tainted("node.kubernetes.io/pid-pressure"),
    "CheckNodeLabelPresence": ([node("bad")], pod()),
    "CheckServiceAffinity": (
        [node("bad"), service(), FIRST, pod("there", nodeName="first")],
        pod(),
    ),
    "MaxEBSVolumeCount": disks("awsElasticBlockStore", "volumeID", "attachable-volumes-aws-ebs"),
    "MaxGCEPDVolumeCount": disks("gcePersistentDisk", "pdName", "attachable-volumes-gce-pd"),
    "MaxAzureDiskVolumeCount": disks("azureDisk", "diskName", "attachable-volumes-azure-disk"),
    "MaxCinderVolumeCount": disks("cinder", "volumeID", "attachable-volumes-cinder"),
    "MaxCSIVolumeCountPred": limited_by_csi(),
    "CheckVolumeBinding": ([node("bad"), *bound(spec=only_on_good())], pod(volumes=USES_CLAIM)),
    "NoVolumeZoneConflict": (
        [node("bad", **{ZONE: "a"}), *bound(spec=csi("h"), metadata={"labels": {ZONE: "b"}})],
        pod(volumes=USES_CLAIM),
    ),
    "EvenPodsSpread": (
        [node("bad"), pod("there", nodeName="bad")],
        pod(topologySpreadConstraints=[SPREAD]),
    ),
    "MatchInterPodAffinity": (
        [node("bad"), pod("there", nodeName="bad")],
        pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [SELF]}}),
    ),
}
"""Predicate → a node that it rejects, with what is on it, and the pod."""
ARGUMENTS = {
    "CheckNodeLabelPresence": {"labelsPresence": {"labels": ["good"], "presence": True}},
    "CheckServiceAffinity": {"serviceAffinity": {"labels": ["good"]}},
}


def only(name: str) -> dict[str, Any]:
    """Return a policy with that predicate, its argument if it has one, and no priority."""
    predicate = {"name": name, **({"argument": ARGUMENTS[name]} if name in ARGUMENTS else {})}
    return policy(predicates=[predicate], priorities=[])


def test_every_name_of_these_versions_is_known() -> None:
    assert PREDICATES.keys() >= set(NAMES)
    assert DECISIONS.keys() == PREDICATES.keys()


@pytest.mark.parametrize("name", PREDICATES)
def test_a_predicate_becomes_its_plugins(name: str) -> None:
    migration = migrate(only(name))
    (profile,) = migration.config["profiles"]
    filters = [each["name"] for each in profile["plugins"]["filter"]["enabled"]]
    mandatory = [plugin for each in MANDATORY for plugin in PREDICATES[each].plugins]
    assert set(filters) == {*PREDICATES[name].plugins, *mandatory}
    assert any(note.field == "predicates[0]" and name in note.text for note in migration.notes)
    assert not migration.not_kept


@pytest.mark.parametrize("name", [name for name in PREDICATES if name != "HostName"])
def test_a_predicate_rejects_the_node_that_it_rejected(name: str) -> None:
    objects, pending = DECISIONS[name]
    good = node("good", good="yes", **{ZONE: "b"})
    assert best(only(name), [*objects, good], pending) == ["good"]
    if name not in MANDATORY and name not in ("GeneralPredicates",) and not _by_taints(name):
        assert "bad" in best(policy(predicates=[], priorities=[]), [*objects, good], pending)


def _by_taints(name: str) -> bool:
    return PREDICATES[name].plugins == ("TaintToleration",)


def test_the_host_name_is_that_of_the_node() -> None:
    for predicates, expected in (([], ["n", "other"]), ([{"name": "HostName"}], ["n"])):
        config = migrate(policy(predicates=predicates, priorities=[])).config
        with Simulation([node("n"), node("other")], config) as simulation:
            evaluation = simulation.evaluate(pod(nodeName="n"))
            assert sorted(evaluation.feasible) == expected


@pytest.mark.parametrize("presence", [True, False])
def test_labels_presence_under_any_name(presence: bool) -> None:
    argument = {"labelsPresence": {"labels": ["zone"], "presence": presence}}
    document = policy(predicates=[{"name": "mine", "argument": argument}], priorities=[])
    assert best(document, [node("with", zone="z"), node("without")], pod()) == [
        "with" if presence else "without"
    ]


def test_labels_of_several_predicates_are_joined() -> None:
    def entry(label: str, presence: bool) -> dict[str, Any]:
        return {"name": label, "argument": {"labelsPresence": {"labels": [label], "presence": presence}}}

    document = policy(predicates=[entry("a", True), entry("b", True), entry("c", False)], priorities=[])
    nodes = [node("ab", a="", b=""), node("a", a=""), node("abc", a="", b="", c="")]
    assert best(document, nodes, pod()) == ["ab"]


def test_a_name_without_argument_requires_no_label() -> None:
    document = policy(predicates=[{"name": "CheckNodeLabelPresence"}], priorities=[])
    assert best(document, [node("n")], pod()) == ["n"]
