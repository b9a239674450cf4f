"""The build stage: names and extension points, weights, extenders, and plugins outside the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from attrs import field, frozen

from schedframe.config import (
    CatalogueEntry,
    ConfigBuildError,
    ConfigValidationError,
    Duration,
    EffectiveConfig,
    PluginCatalogue,
    RegisteredEvent,
    RemovedPlugin,
    load_config,
    structure_args,
)
from schedframe.config.structure import StructureError
from schedframe.errors import PluginError
from tests.configurations import META

from .certificate import CERTIFICATE


@frozen
class Weight:
    name: str
    weight: int = field(default=1, validator=attrs.validators.ge(0))


@frozen
class BinPackArgs:
    """Arguments of a plugin outside the tree."""

    resources: tuple[Weight, ...] = ()
    max_pods: int | None = None
    pause: Duration = field(factory=Duration)
    zones: dict[str, list[int]] = field(factory=dict)


@frozen
class NeedyArgs:
    endpoint: str


BIN_PACK = CatalogueEntry("BinPack", ("filter", "score"), args_class=BinPackArgs)
NEEDY = CatalogueEntry("Needy", ("filter",), args_class=NeedyArgs)


def load(document: dict[str, Any]) -> EffectiveConfig:
    return load_config({**META, **document}, out_of_tree=[BIN_PACK, NEEDY])


def errors_of(document: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigBuildError) as caught:
        load(document)
    assert caught.value.stage == "build"
    return [str(error) for error in caught.value.errors]


def profile(plugins: dict[str, Any], *configs: dict[str, Any]) -> dict[str, Any]:
    return {"profiles": [{"plugins": plugins, "pluginConfig": list(configs)}]}


def enabled(*names: str) -> dict[str, Any]:
    return {"enabled": [{"name": name} for name in names]}


def test_unknown_plugins_with_a_suggestion() -> None:
    (error,) = errors_of(profile({"filter": enabled("NodePort")}))
    assert error.startswith("profiles[0].plugins.filter.enabled[0]: invalid value 'NodePort'")
    assert 'did you mean "NodePorts"?' in error


def test_removed_plugins_name_their_successor() -> None:
    (error,) = errors_of(profile({"score": enabled("SelectorSpread")}))
    assert "PodTopologySpread" in error
    (error,) = errors_of(profile({"multiPoint": enabled("EBSLimits")}))
    assert "NodeVolumeLimits" in error


def test_all_build_errors_are_reported_at_once() -> None:
    plugins = {
        "multiPoint": {"enabled": [{"name": "Gone"}], "disabled": [{"name": "*"}]},
        "filter": enabled("ImageLocality"),
        "score": enabled("ImageLocality", "ImageLocality"),
        "preScore": enabled("NodeResourcesFit"),
    }
    strategy = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}
    fields = [error.partition(":")[0] for error in errors_of(profile(plugins, strategy))]
    assert fields == [
        "profiles[0].pluginConfig[0].args.scoringStrategy.type",
        "profiles[0].plugins.filter.enabled[0]",
        "profiles[0].plugins.score.enabled[1]",
        "profiles[0].plugins.multiPoint.enabled[0]",
    ]


def test_no_error_follows_from_another_one() -> None:
    disabled = {"disabled": [{"name": "*"}]}
    for point in ("queueSort", "bind"):
        (error,) = errors_of(profile({point: {**enabled("Gone"), **disabled}}))
        assert error.startswith(f"profiles[0].plugins.{point}.enabled[0]: invalid value 'Gone'")
        (error,) = errors_of(profile({point: disabled}))
        assert error.startswith(f"profiles[0].plugins.{point}: ")
    (error,) = errors_of(profile({"multiPoint": enabled("Gone"), "queueSort": enabled("OtherSort")}))[:1]
    assert "OtherSort" in error


def test_errors_of_multi_point_have_the_index_and_the_line_of_their_plugin() -> None:
    text = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled:
      - name: NodePorts
      - name: Gone
      - name: DefaultBinder
      - name: DefaultBinder
"""
    with pytest.raises(ConfigBuildError) as caught:
        load_config(text)
    assert [(error.field, error.location) for error in caught.value.errors] == [
        ("profiles[0].plugins.multiPoint.enabled[1]", "line 8"),
        ("profiles[0].plugins.multiPoint.enabled[3]", "line 10"),
    ]


@pytest.mark.parametrize(
    ("name", "project"),
    [
        ("Coscheduling", "kubernetes-sigs/scheduler-plugins"),
        ("PreemptionToleration", "kubernetes-sigs/scheduler-plugins"),
        ("Sysched", "kubernetes-sigs/scheduler-plugins"),
        ("LoadAwareScheduling", "koordinator-sh/koordinator"),
        ("gpu-share", "AliyunContainerService/gpushare-scheduler-extender"),
        ("binpack", "volcano-sh/volcano"),
    ],
)
def test_plugins_of_other_projects_are_known_by_name(name: str, project: str) -> None:
    (error,) = errors_of(profile({"filter": enabled(name)}))
    assert f"this is a plugin of {project}" in error
    assert "did you mean" not in error


def test_a_duplicate_in_multi_point_is_accepted_if_the_plugin_runs_nowhere() -> None:
    plugins = {"multiPoint": enabled("DefaultBinder", "DefaultBinder"), "bind": enabled("DefaultBinder")}
    assert [plugin.name for plugin in load(profile(plugins)).profiles[0].plugins["bind"]] == ["DefaultBinder"]
    assert errors_of(profile({"multiPoint": enabled("DefaultBinder", "DefaultBinder")}))


def test_ratio_strategy_and_its_shape() -> None:
    def fit(strategy: dict[str, Any]) -> list[str]:
        return errors_of(profile({}, {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}))

    (error,) = fit({"type": "RequestedToCapacityRatio"})
    assert "requestedToCapacityRatio: required" in error
    (error,) = fit({"type": "LeastAllocated", "requestedToCapacityRatio": {"shape": []}})
    assert "requestedToCapacityRatio: forbidden" in error


def test_profiles_by_scheduler_name() -> None:
    config = load(
        {"profiles": [{"schedulerName": "a", "percentageOfNodesToScore": 7}, {"schedulerName": "b"}]}
    )
    chosen = config.profile("a")
    assert chosen is not None
    assert chosen.percentage_of_nodes_to_score == 7
    assert config.profile("default-scheduler") is None


def test_queue_sorts_with_different_arguments_are_refused() -> None:
    profiles = [
        {"schedulerName": name, "pluginConfig": [{"name": "PrioritySort", "args": name}]} for name in "ab"
    ]
    (error,) = errors_of({"profiles": profiles})
    assert "give PrioritySort the same args" in error


# Plugins out of the tree


def test_arguments_are_structured() -> None:
    args = {"resources": [{"name": "cpu"}], "maxPods": 3, "pause": "1m", "zones": {"a": [1]}}
    config = load(profile({"multiPoint": enabled("BinPack")}, {"name": "BinPack", "args": args}))
    expected = BinPackArgs((Weight("cpu"),), 3, Duration.of(60), {"a": [1]})
    assert config.profiles[0].plugin_args["BinPack"] == expected
    assert load(config.to_manifest()) == config


def test_missing_arguments_get_defaults() -> None:
    config = load(profile({"multiPoint": enabled("BinPack")}))
    assert config.profiles[0].plugin_args["BinPack"] == BinPackArgs()


def test_arguments_that_do_not_fit_are_validation_errors() -> None:
    args = {
        "apiVersion": "example.com/v1",
        "kind": "BinPackArgs",
        "resources": [{"name": "cpu", "weight": "x"}, {"weight": -1}, {}],
        "maxPod": 1,
        "zones": {"a": [1, None, "b"]},
    }
    with pytest.raises(ConfigValidationError) as caught:
        load(profile({}, {"name": "BinPack", "args": args}))
    prefix = "profiles[0].pluginConfig[0].args"
    found = {error.field.removeprefix(prefix): error.detail for error in caught.value.errors}
    assert set(found) == {
        ".resources[0].weight",
        ".resources[1].name",
        ".resources[2].name",
        ".maxPod",
        ".zones.a[2]",
    }
    assert found[".resources[0].weight"].startswith(
        "$.resources[0].weight: expected a whole number, got 'x' (text)"
    )
    assert found[".maxPod"] == "$.maxPod: did you mean maxPods?"


def test_errors_of_validators_have_the_field() -> None:
    with pytest.raises(StructureError) as caught:
        structure_args({"resources": [{"name": "cpu", "weight": -1}]}, BinPackArgs)
    assert [error.field for error in caught.value.errors] == ["$.resources[0].weight"]
    assert "must be >= 0" in str(caught.value)


def test_a_plugin_with_required_arguments() -> None:
    with pytest.raises(ConfigValidationError, match="Needy, which cannot do without endpoint"):
        load(profile({"filter": enabled("Needy")}))
    load(profile({"filter": enabled("Needy")}, {"name": "Needy", "args": {"endpoint": "e"}}))


def test_arguments_without_a_class_are_passed_on() -> None:
    free = CatalogueEntry("Free", ("filter",))
    document = {**META, **profile({"filter": enabled("Free")}, {"name": "Free", "args": [1, {"a": None}]})}
    config = load_config(document, out_of_tree=[free])
    assert config.profiles[0].plugin_args["Free"] == [1, {"a": None}]


# Extenders

EXTENDERS = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: http://127.0.0.1:2
  prioritizeVerb: rank
  weight: 1
  ignorable: true
- urlPrefix: http://127.0.0.1:1
  filterVerb: filter
"""


def test_ignorable_extenders_come_last() -> None:
    effective = load_config(EXTENDERS)
    assert [extender.ignorable for extender in effective.extenders] == [False, True]


def test_ignored_resources_reach_every_profile() -> None:
    document = {
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}],
        "extenders": [
            {
                "managedResources": [
                    {"name": "example.com/a", "ignoredByScheduler": True},
                    {"name": "example.com/b"},
                ]
            },
            {"managedResources": [{"name": "example.com/c", "ignoredByScheduler": True}]},
        ],
    }
    for each in load(document).profiles:
        assert each.plugin_args["NodeResourcesFit"].ignored_resources == ("example.com/a", "example.com/c")


def test_ignored_resources_need_a_plugin_that_ignores_them() -> None:
    document = {
        **profile({"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}),
        "extenders": [{"managedResources": [{"name": "example.com/a", "ignoredByScheduler": True}]}],
    }
    (error,) = errors_of(document)
    assert "example.com/a" in error


@pytest.mark.parametrize(
    ("tls", "field"),
    [
        ({"insecure": True, "caData": "Zm9v"}, "insecure"),
        ({"caFile": "missing.pem"}, "caFile"),
        ({"serverName": "s", "keyFile": "missing.pem"}, "keyFile"),
        ({"caData": "Zm9v"}, "caData"),
        ({"certData": "Zm9v", "keyData": "Zm9v"}, "certData"),
    ],
)
def test_certificates(tls: dict[str, Any], field: str, tmp_path: Path) -> None:
    tls = {key: str(tmp_path / value) if key.endswith("File") else value for key, value in tls.items()}
    errors = errors_of({"extenders": [{"urlPrefix": "https://a", "tlsConfig": tls}]})
    assert errors[0].startswith(f"extenders[0].tlsConfig.{field}: ")


def test_certificate_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    document = {"extenders": [{"urlPrefix": "https://a", "tlsConfig": {"caFile": str(path)}}]}
    path.write_bytes(CERTIFICATE)
    load(document)
    path.write_bytes(b"-----BEGIN CERTIFICATE-----\n")
    with pytest.raises(ConfigBuildError, match=r"extenders\[0\].tlsConfig: .*cannot be used"):
        load(document)


# Catalogues


def test_catalogues_are_checked() -> None:
    with pytest.raises(PluginError, match="twice"):
        PluginCatalogue([BIN_PACK, BIN_PACK])
    with pytest.raises(PluginError, match="twice"):
        load_config(None, out_of_tree=[CatalogueEntry("NodeName", ("filter",))])
    with pytest.raises(PluginError, match="preScoring"):
        CatalogueEntry("X", ("preScoring",))


def test_a_custom_catalogue() -> None:
    catalogue = PluginCatalogue(
        [
            CatalogueEntry("Second", ("bind",), default_order=2, events=(RegisteredEvent("Node", ("Add",)),)),
            CatalogueEntry("First", ("queueSort", "bind"), default_order=1),
        ],
        [RemovedPlugin("Old", "First"), RemovedPlugin("Second", "First")],
    )
    (only,) = load_config(None, catalogue=catalogue).profiles
    assert [plugin.name for plugin in only.plugins["bind"]] == ["First", "Second"]
    assert catalogue.removed("Old") is not None
    assert catalogue.removed("Second") is None
    assert catalogue.removed("Never") is None
