"""Policies as documents: mandatory and default names, errors, extenders, ConfigMaps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plugins_builtin.legacy.config import migrate
from plugins_builtin.legacy.config.names import DEFAULT_PREDICATES, LATER_PLUGINS, PREDICATES
from schedframe import InMemoryCluster, Registry, Scheduler, VirtualClock, from_manifest
from schedframe.config import ConfigDecodeError, load_config

from .manifests import best, node, pod, policy, thing


def filters_of(document: dict[str, Any]) -> list[str]:
    (profile,) = migrate(document).config["profiles"]
    return [each["name"] for each in profile["plugins"]["filter"]["enabled"]]


def test_mandatory_predicates_come_in_their_order() -> None:
    assert filters_of(policy(predicates=[], priorities=[])) == ["NodeUnschedulable", "TaintToleration"]
    assert filters_of(policy(predicates=[{"name": "GeneralPredicates"}])) == [
        "NodeUnschedulable",
        "NodeResourcesFit",
        "NodeName",
        "NodePorts",
        "NodeAffinity",
        "TaintToleration",
    ]


def test_a_note_names_the_default_plugins_that_no_policy_has() -> None:
    (profile,) = load_config(None).profiles
    made = migrate(policy())
    (migrated,) = load_config(made.config, catalogue=Registry.installed().full_catalogue()).profiles
    missing = set(profile.names) - set(migrated.names)
    assert missing == set(LATER_PLUGINS)
    assert any("DynamicResources, NodeDeclaredFeatures" in note.text for note in made.notes)


def test_a_policy_without_predicates_has_the_default_ones() -> None:
    migration = migrate(policy())
    assert set(filters_of(policy())) >= {
        plugin for name in DEFAULT_PREDICATES for plugin in PREDICATES[name].plugins
    }
    assert not migration.not_kept
    assert best(policy(), [node("n"), node("bad", {"unschedulable": True})], pod()) == ["n"]


@pytest.mark.parametrize(
    ("check_all", "expected"),
    [(True, "1 Insufficient cpu, 1 node(s) were unschedulable"), (False, "1 node(s) were unschedulable")],
)
def test_always_check_all_predicates(check_all: bool, expected: str) -> None:
    config = migrate(policy(alwaysCheckAllPredicates=check_all)).config
    cluster = InMemoryCluster()
    for manifest in (node("n", {"unschedulable": True}), pod(cpu="9")):
        cluster.create(from_manifest(manifest))
    with Scheduler(cluster, config, clock=VirtualClock()) as scheduler:
        scheduler.run_until_idle()
    (found,) = cluster.list("Pod")
    assert f"0/1 nodes are available: {expected}." in found.status.conditions[0].message


def test_wrong_names_and_weights_are_errors_all_at_once() -> None:
    wrong = policy(
        predicates=[{"name": "PodFits"}],
        priorities=[{"name": "Least", "weight": 1}, {"name": "EqualPriority", "weight": 0}],
        hardPodAffinitySymmetricWeight=101,
    )
    with pytest.raises(ConfigDecodeError) as error:
        migrate(wrong)
    fields = [each.field for each in error.value.errors]
    assert fields == [
        "predicates[0].name",
        "priorities[0].name",
        "priorities[1].weight",
        "hardPodAffinitySymmetricWeight",
    ]


LABELS = {"labelsPresence": {"labels": ["a"], "presence": True}}
SERVICE = {"serviceAffinity": {"labels": ["a"]}}


@pytest.mark.parametrize(
    "argument", [{}, {**LABELS, **SERVICE}, {"labelPreference": {"label": "a"}}, {"x": 1}]
)
def test_a_predicate_has_one_argument_at_most(argument: dict[str, Any]) -> None:
    with pytest.raises(ConfigDecodeError, match="give exactly one of labelsPresence, serviceAffinity"):
        migrate(policy(predicates=[{"name": "mine", "argument": argument}]))


# ---- extenders ---------------------------------------------------------------------------------------------


def test_extenders_keep_their_fields_and_get_durations() -> None:
    given = {
        "urlPrefix": "http://e",
        "filterVerb": "f",
        "enableHttps": False,
        "httpTimeout": 1_000_000_000,
        "managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}],
    }
    (extender,) = migrate(policy(extenders=[given])).config["extenders"]
    assert extender == {
        "urlPrefix": "http://e",
        "filterVerb": "f",
        "enableHTTPS": False,
        "httpTimeout": "1000000000ns",
        "managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}],
    }


def test_extenders_may_be_spelled_as_until_v1_10() -> None:
    given = {"URLPrefix": "https://e", "BindVerb": "b", "tlsConfig": {"Insecure": True, "CAFile": "f"}}
    (extender,) = migrate(policy(extenders=[given])).config["extenders"]
    assert extender == {
        "urlPrefix": "https://e",
        "bindVerb": "b",
        "tlsConfig": {"insecure": True, "caFile": "f"},
    }


EXTENDER = {
    "urlPrefix": "https://127.0.0.1:12346/scheduler",
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "bindVerb": "bind",
    "weight": 5,
    "enableHttps": True,
    "tlsConfig": {"insecure": True},
    "httpTimeout": 2_500_000_000,
    "nodeCacheCapable": False,
    "managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}],
    "ignorable": True,
}


def test_extenders_of_a_policy_are_valid_today() -> None:
    config = migrate(policy(extenders=[EXTENDER])).config
    loaded = load_config(config, catalogue=Registry.installed().full_catalogue())
    (extender,) = loaded.config.extenders
    assert extender.enable_https
    assert extender.weight == 5
    assert str(extender.http_timeout) == "2.5s"
    (profile,) = loaded.profiles
    assert profile.plugin_config["NodeResourcesFit"].ignored_resources == ("example.com/foo",)


# ---- ConfigMaps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
def test_a_policy_in_a_config_map(indent: int | None) -> None:
    text = json.dumps(policy(predicates=[{"name": "HostName"}]), indent=indent)
    found = migrate(thing("ConfigMap", "scheduler-policy", data={"policy.cfg": text}))
    assert found == migrate(policy(predicates=[{"name": "HostName"}]))


@pytest.mark.parametrize("data", [None, {}, {"policy.cfg": ""}, {"other": "x"}])
def test_a_config_map_without_a_policy(data: Any) -> None:
    with pytest.raises(ConfigDecodeError, match=r"the ConfigMap has no entry policy\.cfg"):
        migrate(thing("ConfigMap", "scheduler-policy", data=data))


@pytest.mark.parametrize("form", ["yaml", "json", "one line"])
def test_a_configuration_in_a_config_map(form: str) -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta3",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 3,
    }
    text = json.dumps(document, indent=None if form == "one line" else 2)
    if form == "yaml":
        text = "\n".join(f"{key}: {value}" for key, value in document.items())
    entries = {"other": "x", "config.yaml": text, "second": text}
    migration = migrate(thing("ConfigMap", "scheduler", data=entries))
    assert migration.config == migrate(document).config
    assert str(migration.notes[0]) == "data: that of the entry config.yaml"
    assert [str(note) for note in migration.not_kept] == ["NOT KEPT: data.second: migrate it on its own"]


# ---- shapes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        (policy(predicates="all", prioritys=[]), ["prioritys", "predicates"]),
        (policy(predicates=["HostName", None], priorities=[{"argument": 3}]),
         ["predicates[0]", "predicates[1]", "priorities[0].argument"]),
        (policy(predicates=[{"name": "a", "argument": {"labelsPresence": []}}]),
         ["predicates[0].argument.labelsPresence"]),
        (policy(predicates=[{"name": "a", "argument": {"labelsPresence": {"labels": "zone"}}}]),
         ["predicates[0].argument.labelsPresence.labels"]),
        (policy(priorities=[{"name": "a", "argument": {"labelPreference": {"label": 1, "presence": "yes"}}}]),
         ["priorities[0].argument.labelPreference.label", "priorities[0].argument.labelPreference.presence"]),
    ],
)  # fmt: skip
def test_documents_of_a_wrong_shape(document: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(ConfigDecodeError) as error:
        migrate(document)
    assert [each.field for each in error.value.errors] == fields
