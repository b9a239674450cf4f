"""Configurations of v1alpha1 to v1beta3, and algorithm providers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plugins_builtin.legacy.config import migrate, provider
from plugins_builtin.legacy.config.names import PLUGINS, STRATEGY_TYPES
from schedframe import Simulation
from schedframe.config import ConfigDecodeError, load_config

from .manifests import best, component, node, pod, policy

VERSIONS = ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")
USED = [node("empty"), node("used"), pod("there", nodeName="used")]
LEAST, MOST = "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"


def migrated(version: str, **profile: Any) -> dict[str, Any]:
    (found,) = migrate(component(version, profiles=[profile])).config["profiles"]
    assert isinstance(found, dict)
    return found


def scores(**lists: list[Any]) -> dict[str, Any]:
    """Return the plugins of a profile; entries are names, or names with weights."""
    named = {
        key: [
            {"name": each} if isinstance(each, str) else {"name": each[0], "weight": each[1]}
            for each in given
        ]
        for key, given in lists.items()
    }
    return {"score": named}


def enabled(profile: dict[str, Any], point: str = "score") -> dict[str, int | None]:
    found = profile.get("plugins", {}).get(point, {}).get("enabled", ())
    return {each["name"]: each.get("weight") for each in found}


def args_of(profile: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each["args"] for each in profile.get("pluginConfig", ())}


@pytest.mark.parametrize("version", VERSIONS)
def test_default_scores_stay_those_of_the_version(version: str) -> None:
    (profile,) = migrate(component(version)).config["profiles"]
    expected = {}
    if version != "v1beta3":
        expected = {"NodeAffinity": 1, "InterPodAffinity": 1, "TaintToleration": 1}
    if version in VERSIONS[:3]:
        expected["NodePreferAvoidPods"] = 10_000
    if version in VERSIONS[:2]:
        expected["SelectorSpread"] = 1
        assert enabled(profile, "preScore") == {"SelectorSpread": None}
        assert args_of(profile) == {"PodTopologySpread": {"defaultingType": "List"}}
    assert enabled(profile) == expected


def test_what_a_profile_enables_or_disables_is_no_default_any_more() -> None:
    given = scores(disabled=["NodePreferAvoidPods", "NodeAffinity"], enabled=[("TaintToleration", 7)])
    assert enabled(migrated("v1beta1", plugins=given)) == {"TaintToleration": 7, "InterPodAffinity": 1}
    assert enabled(migrated("v1beta1", plugins=scores(disabled=["*"], enabled=["NodeName"]))) == {
        "NodeName": None
    }


@pytest.mark.parametrize("name", sorted(PLUGINS.keys() - STRATEGY_TYPES.keys()))
def test_a_plugin_that_v1_does_not_name(name: str) -> None:
    profile = migrated("v1beta1", plugins=scores(enabled=[(name, 2)]))
    assert enabled(profile)[PLUGINS[name].plugins[0]] == 2
    assert PLUGINS[name].plugins[0] not in enabled(migrated("v1beta2", plugins=scores(disabled=[name])))


@pytest.mark.parametrize(
    ("version", "lists", "expected", "strategy"),
    [
        ("v1beta1", {}, {}, None),
        ("v1beta1", {"enabled": [(LEAST, 5)]}, {"NodeResourcesFit": 5}, None),
        ("v1beta1", {"enabled": [(MOST, 5)]}, {MOST: 5}, None),
        ("v1beta1", {"disabled": [LEAST]}, {}, None),
        ("v1beta1", {"disabled": [LEAST], "enabled": [(MOST, 5)]}, {"NodeResourcesFit": 5}, "MostAllocated"),
        ("v1beta1", {"disabled": ["*"], "enabled": [(MOST, 5)]}, {"NodeResourcesFit": 5}, "MostAllocated"),
        (
            "v1beta1",
            {"disabled": [LEAST], "enabled": [(MOST, 5), ("RequestedToCapacityRatio", 2)]},
            {"NodeResourcesFit": 5, "RequestedToCapacityRatio": 2},
            "MostAllocated",
        ),
        ("v1beta2", {"enabled": [(MOST, 5)]}, {MOST: 5}, None),
    ],
)
def test_strategies(
    version: str, lists: dict[str, Any], expected: dict[str, int], strategy: str | None
) -> None:
    profile = migrated(version, plugins=scores(**lists))
    found = {
        name: weight for name, weight in enabled(profile).items() if "Resources" in name or "Ratio" in name
    }
    assert found == expected
    fit = args_of(profile).get("NodeResourcesFit")
    assert fit == (None if strategy is None else {"scoringStrategy": {"type": strategy}})
    disabled = profile.get("plugins", {}).get("score", {}).get("disabled", [])
    assert ({"name": "NodeResourcesFit"} in disabled) == (LEAST in lists.get("disabled", ()))


def test_arguments_follow_their_plugin() -> None:
    resources = [{"name": "cpu", "weight": 3}]
    config = [
        {"name": LEAST, "args": {"kind": "x", "resources": resources}},
        {"name": MOST, "args": {"resources": resources}},
        {"name": "NodeLabel", "args": {"presentLabels": ["a"]}},
        {"name": "PodTopologySpread", "args": {"defaultConstraints": [{"maxSkew": 1}]}},
    ]
    assert args_of(migrated("v1beta1", pluginConfig=config)) == {
        "NodeResourcesFit": {"scoringStrategy": {"type": "LeastAllocated", "resources": resources}},
        MOST: {"resources": resources},
        "NodeLabel": {"presentLabels": ["a"]},
        "PodTopologySpread": {"defaultConstraints": [{"maxSkew": 1}], "defaultingType": "List"},
    }


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({}, ["empty"]),
        ({"disabled": [LEAST], "enabled": [(MOST, 100)]}, ["used"]),
        ({"enabled": [(MOST, 100)]}, ["used"]),
    ],
)
def test_decisions_of_a_profile(lists: dict[str, Any], expected: list[str]) -> None:
    document = component("v1beta1", profiles=[{"plugins": scores(**lists)}])
    assert best(document, USED, pod()) == expected


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
    assert args_of(profile) == {
        "InterPodAffinity": {"hardPodAffinityWeight": 7},
        "VolumeBinding": {"bindTimeoutSeconds": 30},
        "NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated"}},
        "PodTopologySpread": {"defaultingType": "List"},
    }
    assert migration.config["leaderElection"] == {"leaderElect": False, "resourceName": "lock"}
    with Simulation([node("n")], migration.config) as simulation:
        assert simulation.schedule([{**pod(), "spec": {**pod()["spec"], "schedulerName": "mine"}}])


def test_the_policy_of_a_configuration_decides_its_profile(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    given = policy(predicates=[{"name": "HostName"}], priorities=[], extenders=[{"urlPrefix": "http://e"}])
    file.write_text(json.dumps(given), encoding="utf-8")
    migration = migrate(
        component(
            "v1alpha1",
            schedulerName="mine",
            algorithmSource={"policy": {"file": {"path": str(file)}}},
            hardPodAffinitySymmetricWeight=7,
            disablePreemption=True,
        )
    )
    expected = migrate(given).config
    (profile,) = expected["profiles"]
    del profile["plugins"]["postFilter"]
    profile["schedulerName"] = "mine"
    profile["pluginConfig"] = [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}]
    assert migration.config == expected
    assert not migration.not_kept


@pytest.mark.parametrize("source", [{"file": {"path": "/absent"}}, {"configMap": {"name": "p"}}])
def test_a_policy_that_is_not_here_is_not_kept(source: dict[str, Any]) -> None:
    migration = migrate(component("v1alpha1", algorithmSource={"policy": source}))
    assert [note.field for note in migration.not_kept] == ["algorithmSource.policy"]


@pytest.mark.parametrize(
    ("lock", "kept"),
    [("leases", True), ("endpointsleases", True), ("endpoints", False), ("configmaps", False)],
)
def test_the_lock_becomes_a_lease(lock: str, kept: bool) -> None:
    migration = migrate(component("v1beta1", leaderElection={"resourceLock": lock}))
    assert migration.config["leaderElection"] == {"resourceLock": "leases"}
    assert bool(migration.not_kept) != kept


def test_points_that_are_gone_are_not_kept() -> None:
    migration = migrate(component("v1alpha2", profiles=[{"plugins": {"unreserve": {"enabled": []}}}]))
    assert [note.field for note in migration.not_kept] == ["profiles[0].plugins.unreserve"]


def test_providers() -> None:
    for name, expected in (("DefaultProvider", "empty"), ("ClusterAutoscalerProvider", "used")):
        migration = provider(name)
        assert not migration.not_kept
        with Simulation(USED, migration.config) as simulation:
            assert simulation.evaluate(pod()).best == [expected]
    with pytest.raises(ValueError, match="there is no algorithm provider 'None'"):
        provider("None")


def test_other_documents_are_refused() -> None:
    with pytest.raises(ConfigDecodeError, match="expected a Policy of v1 or a KubeSchedulerConfiguration of"):
        migrate(component("v2"))


def test_a_configuration_of_today_stays_as_it_is() -> None:
    document = component("v1", parallelism=4)
    migration = migrate(document)
    assert migration.config == document
    assert not migration.not_kept


@pytest.mark.parametrize(
    ("document", "fields"),
    [
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


@pytest.mark.parametrize(
    ("document", "own"),
    [
        (component("v1beta3"), None),
        (
            component("v1beta3", profiles=[{"plugins": {"filter": {"disabled": [{"name": "EBSLimits"}]}}}]),
            None,
        ),
        (component("v1beta2", profiles=[{"plugins": scores(enabled=["NodeLabel"])}]), "NodeLabel"),
        (component("v1alpha1"), "NodePreferAvoidPods, SelectorSpread"),
        (policy(predicates=[], priorities=[]), None),
        (policy(predicates=[], priorities=[], alwaysCheckAllPredicates=True), "runAllFilters"),
    ],
)
def test_a_note_says_what_only_schedframe_has(document: dict[str, Any], own: str | None) -> None:
    notes = [note.text for note in migrate(document).notes if note.field == "profiles"]
    expected = f"the configuration works with schedframe only, because of {own}"
    assert notes == ([] if own is None else [expected])
    if own is None:
        load_config(migrate(document).config)
