"""Older configurations: what every name becomes, and one decision that each predicate makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schedframe import Simulation
from schedframe.cli.former_flags import FORMER_FLAGS
from schedframe.config import ConfigDecodeError
from schedframe.config.legacy import migrate, provider
from schedframe.config.legacy.names import MANDATORY, PREDICATES, PRIORITIES, RENAMED_PLUGINS

V1_15_PREDICATES = {
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
}
V1_15_PRIORITIES = {
    "BalancedResourceAllocation",
    "EqualPriority",
    "EvenPodsSpreadPriority",
    "ImageLocalityPriority",
    "InterPodAffinityPriority",
    "LeastRequestedPriority",
    "MostRequestedPriority",
    "NodeAffinityPriority",
    "NodeLabelPriority",
    "NodePreferAvoidPodsPriority",
    "RequestedToCapacityRatioPriority",
    "ResourceLimitsPriority",
    "SelectorSpreadPriority",
    "ServiceAntiAffinityPriority",
    "ServiceSpreadingPriority",
    "TaintTolerationPriority",
}


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def node(name: str, spec: dict[str, Any] | None = None, **labels: str) -> dict[str, Any]:
    amounts = {"cpu": "2", "memory": "4Gi", "pods": "9"}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "spec": spec or {},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def pod(name: str = "p", cpu: str = "1", ports: list[Any] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, "ports": ports or []}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "a"}},
        "spec": {"containers": [container], **spec},
    }


SELF = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "kubernetes.io/hostname"}
PORT = [{"containerPort": 80, "hostPort": 80}]
DISK = [{"name": "d", "gcePersistentDisk": {"pdName": "one"}}]
NO_SCHEDULE = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
NO_EXECUTE = {"taints": [{"key": "k", "effect": "NoExecute"}]}
PRESSURE = {"taints": [{"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}]}
SPREAD = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
SPREAD_SELF = {**SPREAD, "labelSelector": SELF["labelSelector"]}
FULL = pod("there", "2", nodeName="bad")

DECISIONS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "CheckNodeUnschedulable": ([node("bad", {"unschedulable": True})], pod()),
    "GeneralPredicates": ([node("bad"), FULL], pod()),
    "HostName": ([node("bad")], pod(nodeName="")),
    "PodFitsHostPorts": ([node("bad"), pod("there", "1", PORT, nodeName="bad")], pod(ports=PORT)),
    "PodFitsPorts": ([node("bad"), pod("there", "1", PORT, nodeName="bad")], pod(ports=PORT)),
    "MatchNodeSelector": ([node("bad")], pod(nodeSelector={"good": "yes"})),
    "PodFitsResources": ([node("bad"), FULL], pod()),
    "NoDiskConflict": ([node("bad"), pod("there", nodeName="bad", volumes=DISK)], pod(volumes=DISK)),
    "PodToleratesNodeTaints": ([node("bad", NO_SCHEDULE)], pod()),
    "PodToleratesNodeNoExecuteTaints": ([node("bad", NO_EXECUTE)], pod()),
    "CheckNodeCondition": ([node("bad", PRESSURE)], pod()),
    "CheckNodeMemoryPressure": ([node("bad", PRESSURE)], pod()),
    "CheckNodeDiskPressure": ([node("bad", PRESSURE)], pod()),
    "CheckNodePIDPressure": ([node("bad", PRESSURE)], pod()),
    "EvenPodsSpread": (
        [node("bad"), pod("there", nodeName="bad")],
        pod(topologySpreadConstraints=[SPREAD_SELF]),
    ),
    "MatchInterPodAffinity": (
        [node("bad"), pod("there", nodeName="bad")],
        pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [SELF]}}),
    ),
}
"""Predicate → a node that it rejects, with what is on it, and the pod."""


def test_every_name_of_these_versions_is_known() -> None:
    assert PREDICATES.keys() >= V1_15_PREDICATES
    assert PRIORITIES.keys() >= V1_15_PRIORITIES


@pytest.mark.parametrize("name", PREDICATES)
def test_a_predicate_becomes_its_plugins(name: str) -> None:
    migration = migrate(policy(predicates=[{"name": name}], priorities=[]))
    (profile,) = migration.config["profiles"]
    filters = [each["name"] for each in profile["plugins"]["filter"]["enabled"]]
    mandatory = [plugin for each in MANDATORY for plugin in PREDICATES[each].plugins]
    assert set(filters) == {*PREDICATES[name].plugins, *mandatory}
    assert any(note.field == "predicates[0]" and name in note.text for note in migration.notes)
    with Simulation([node("n")], migration.config) as simulation:
        assert simulation.evaluate(pod()).best == ["n"]


@pytest.mark.parametrize("name", [name for name in DECISIONS if name != "HostName"])
def test_a_predicate_decides_as_it_did(name: str) -> None:
    objects, pending = DECISIONS[name]
    config = migrate(policy(predicates=[{"name": name}], priorities=[])).config
    with Simulation([*objects, node("good", good="yes")], config) as simulation:
        assert simulation.evaluate(pending).best == ["good"]


@pytest.mark.parametrize("presence", [True, False])
def test_labels_presence(presence: bool) -> None:
    argument = {"labelsPresence": {"labels": ["zone"], "presence": presence}}
    config = migrate(policy(predicates=[{"name": "mine", "argument": argument}], priorities=[])).config
    with Simulation([node("with", zone="z"), node("without")], config) as simulation:
        assert simulation.evaluate(pod()).best == ["with" if presence else "without"]


@pytest.mark.parametrize("name", PRIORITIES)
def test_a_priority_becomes_its_plugin_with_its_weight(name: str) -> None:
    migration = migrate(policy(predicates=[], priorities=[{"name": name, "weight": 3}]))
    (profile,) = migration.config["profiles"]
    scores = {each["name"]: each["weight"] for each in profile["plugins"].get("score", {}).get("enabled", ())}
    assert scores == dict.fromkeys(PRIORITIES[name].plugins, 3)
    assert bool(migration.not_kept) != PRIORITIES[name].kept


@pytest.mark.parametrize(
    ("name", "argument", "best"),
    [
        ("LeastRequestedPriority", None, "empty"),
        ("MostRequestedPriority", None, "used"),
        ("mine", {"labelPreference": {"label": "ssd", "presence": True}}, "used"),
        ("mine", {"labelPreference": {"label": "ssd", "presence": False}}, "empty"),
        (
            "mine",
            {
                "requestedToCapacityRatioArguments": {
                    "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
                    "resources": [{"name": "cpu", "weight": 1}],
                }
            },
            "used",
        ),
    ],
)
def test_a_priority_prefers_the_node_that_it_preferred(
    name: str, argument: dict[str, Any] | None, best: str
) -> None:
    priority = {"name": name, "weight": 1, **({"argument": argument} if argument else {})}
    config = migrate(policy(predicates=[{"name": "PodFitsResources"}], priorities=[priority])).config
    nodes = [node("empty"), node("used", ssd="yes"), pod("there", nodeName="used")]
    with Simulation(nodes, config) as simulation:
        assert simulation.evaluate(pod()).best == [best]


def test_a_policy_without_lists_has_the_default_ones() -> None:
    migration = migrate(policy(hardPodAffinitySymmetricWeight=10))
    (profile,) = migration.config["profiles"]
    assert len(profile["plugins"]["filter"]["enabled"]) == 12
    assert {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 10}} in profile["pluginConfig"]
    assert [note.field for note in migration.not_kept] == ["priorities[4]", "priorities[8]"]


def test_wrong_names_and_weights_are_errors_all_at_once() -> None:
    wrong = policy(
        predicates=[{"name": "PodFits"}],
        priorities=[{"name": "Least", "weight": 1}, {"name": "EqualPriority", "weight": 0}],
    )
    with pytest.raises(ConfigDecodeError) as error:
        migrate(wrong)
    fields = [each.field for each in error.value.errors]
    assert fields == ["predicates[0].name", "priorities[0].name", "priorities[1].weight"]


def test_extenders_of_a_policy() -> None:
    given = {"urlPrefix": "http://e", "filterVerb": "f", "enableHttps": False, "httpTimeout": 1_000_000_000}
    (extender,) = migrate(policy(extenders=[given])).config["extenders"]
    assert extender == {
        "urlPrefix": "http://e",
        "filterVerb": "f",
        "enableHTTPS": False,
        "httpTimeout": "1000000000ns",
    }


# ---- older versions of the configuration -------------------------------------------------------------------


def component(version: str, **fields: Any) -> dict[str, Any]:
    api = f"kubescheduler.config.k8s.io/{version}"
    return {"apiVersion": api, "kind": "KubeSchedulerConfiguration", **fields}


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3"])
def test_default_weights_stay_those_of_the_version(version: str) -> None:
    (profile,) = migrate(component(version)).config["profiles"]
    old = {"NodeAffinity": 1, "InterPodAffinity": 1, "TaintToleration": 1}
    given = profile.get("plugins", {}).get("score", {}).get("enabled", ())
    assert {each["name"]: each["weight"] for each in given} == ({} if version == "v1beta3" else old)


@pytest.mark.parametrize("name", RENAMED_PLUGINS)
def test_a_plugin_that_is_gone(name: str) -> None:
    profile = {"plugins": {"score": {"enabled": [{"name": name, "weight": 2}]}}}
    migration = migrate(component("v1beta1", profiles=[profile]))
    (migrated,) = migration.config["profiles"]
    names = [each["name"] for each in migrated["plugins"]["score"]["enabled"]]
    assert names[: -3 or None] == list(RENAMED_PLUGINS[name].plugins)
    assert bool(migration.not_kept) != RENAMED_PLUGINS[name].kept


def test_fields_of_v1alpha1() -> None:
    migration = migrate(
        component(
            "v1alpha1",
            schedulerName="mine",
            algorithmSource={"provider": "ClusterAutoscalerProvider"},
            hardPodAffinitySymmetricWeight=7,
            bindTimeoutSeconds=30,
            disablePreemption=True,
            healthzBindAddress=":10251",
            leaderElection={"leaderElect": False, "lockObjectName": "lock"},
        )
    )
    (profile,) = migration.config["profiles"]
    assert profile["schedulerName"] == "mine"
    assert profile["plugins"]["postFilter"] == {"disabled": [{"name": "*"}]}
    assert profile["pluginConfig"] == [
        {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}},
        {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}},
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
    ]
    assert migration.config["leaderElection"] == {"leaderElect": False, "resourceName": "lock"}
    with Simulation([node("n")], migration.config) as simulation:
        assert simulation.schedule([{**pod(), "spec": {**pod()["spec"], "schedulerName": "mine"}}])


def test_the_provider_for_autoscaling_prefers_full_nodes() -> None:
    nodes = [node("empty"), node("used"), pod("there", nodeName="used")]
    for name, best in (("DefaultProvider", "empty"), ("ClusterAutoscalerProvider", "used")):
        with Simulation(nodes, provider(name).config) as simulation:
            assert simulation.evaluate(pod()).best == [best]
    with pytest.raises(ValueError, match="there is no algorithm provider 'None'"):
        provider("None")


def test_other_documents_are_refused() -> None:
    with pytest.raises(ConfigDecodeError, match="expected a Policy of v1, or a KubeSchedulerConfiguration"):
        migrate(component("v1"))


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        (policy(predicates="all", prioritys=[]), ["prioritys", "predicates"]),
        (policy(predicates=["HostName", None], priorities=[{"argument": 3}]),
         ["predicates[0]", "predicates[1]", "priorities[0].argument"]),
        (policy(predicates=[{"name": "a", "argument": {"labelsPresence": []}}]),
         ["predicates[0].argument.labelsPresence"]),
        (component("v1beta1", profiles={}, leaderElection=1), ["profiles", "leaderElection"]),
        (component("v1beta1", profiles=[{"plugins": {"score": {"enabled": ["a"]}}}]),
         ["profiles[0].plugins.score.enabled[0]"]),
        (component("v1alpha1", plugins=[], pluginConfig=[{"args": 1}]), ["plugins", "pluginConfig[0].args"]),
    ],
)  # fmt: skip
def test_documents_of_a_wrong_shape(document: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(ConfigDecodeError) as error:
        migrate(document)
    assert [each.field for each in error.value.errors] == fields


def test_every_name_is_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/legacy-names.md").read_text(encoding="utf-8")
    for name in (*PREDICATES, *PRIORITIES, *RENAMED_PLUGINS):
        assert f"`{name}`" in page, name
    for flag, successor in FORMER_FLAGS.items():
        assert f"| `{flag}` | {successor} |" in page
