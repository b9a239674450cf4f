"""The decode stage: strict, with all errors at once, their paths, lines and suggestions."""

from __future__ import annotations

import pickle
from base64 import b64encode
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import define, field, validators

from plugins_builtin.args import DefaultPreemptionArgs, InterPodAffinityArgs, NodeAffinityArgs
from schedframe.api import NodeAffinity, TopologySpreadConstraint
from schedframe.config import (
    ConfigDecodeError,
    Duration,
    Extender,
    ExtenderTLSConfig,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    PluginConfig,
    load_config,
    structure_args,
)
from schedframe.config.structure import StructureError, unstructure
from schedframe.errors import ConfigError, SchedframeError
from tests.configurations import META

from .certificate import CERTIFICATE

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def refused(source: Any) -> ConfigDecodeError:
    with pytest.raises(ConfigDecodeError) as caught:
        load_config(source)
    assert caught.value.stage == "decode"
    return caught.value


def profile_with_args(name: str, args: Any) -> dict[str, Any]:
    return {**META, "profiles": [{"pluginConfig": [{"name": name, "args": args}]}]}


def test_all_errors_are_reported_at_once_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        HEAD
        + """\
parallelsim: 4
percentageOfNodesToScore: "50"
profiles:
- plugins:
    score:
      enabled:
      - name: NodeAffinity
        wieght: 3
  pluginConfig:
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 2147483648}
""",
        encoding="utf-8",
    )
    error = refused(path)
    assert {(each.type.value, each.field) for each in error.errors} == {
        ("FieldUnknown", "parallelsim"),
        ("FieldValueTypeInvalid", "percentageOfNodesToScore"),
        ("FieldUnknown", "profiles[0].plugins.score.enabled[0].wieght"),
    }
    text = str(error)
    assert f"{path}:3: parallelsim: unknown field: did you mean parallelism?" in text
    assert f"{path}:4: percentageOfNodesToScore: wrong type: expected a whole number, got '50' (text)" in text
    assert f"{path}:10: profiles[0].plugins.score.enabled[0].wieght" in text


def test_errors_of_several_args_are_reported_together() -> None:
    config = profile_with_args("InterPodAffinity", {"hardPodAffinityWeight": 2**31, "x": 1})
    config["profiles"][0]["pluginConfig"].append({"name": "DefaultPreemption", "args": []})
    assert [error.field for error in refused(config).errors] == [
        "profiles[0].pluginConfig[0].args.hardPodAffinityWeight",
        "profiles[0].pluginConfig[0].args.x",
        "profiles[0].pluginConfig[1].args",
    ]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({}, ""),
        ([], ""),
        ({"kind": "KubeSchedulerConfiguration"}, "apiVersion"),
        ({"apiVersion": META["apiVersion"]}, "kind"),
        ({**META, "kind": "Policy"}, "kind"),
        ({**META, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, "apiVersion"),
        ({**META, "profiles": ["x"]}, "profiles[0]"),
        ({**META, "profiles": {}}, "profiles"),
        ({**META, "extenders": [{"httpTimeout": None}]}, "extenders[0].httpTimeout"),
        ({**META, "extenders": [{"httpTimeout": "5 seconds"}]}, "extenders[0].httpTimeout"),
        ({**META, "extenders": [{"tlsConfig": {"certData": "?"}}]}, "extenders[0].tlsConfig.certData"),
        ({**META, "clientConnection": {"qps": True}}, "clientConnection.qps"),
        ({**META, "clientConnection": {"kubeconfig": 5}}, "clientConnection.kubeconfig"),
        ({**META, "leaderElection": {"leaderElect": 1}}, "leaderElection.leaderElect"),
        ({**META, "podMaxBackoffSeconds": 2**63}, "podMaxBackoffSeconds"),
    ],
)
def test_refused_with_path(document: Any, field: str) -> None:
    import yaml

    assert [error.field for error in refused(yaml.safe_dump(document)).errors] == [field]


@pytest.mark.parametrize("key", ["apiVersion", "kind"])
def test_args_of_another_kind(key: str) -> None:
    error = refused(profile_with_args("DefaultPreemption", {key: "Other"}))
    assert [each.field for each in error.errors] == [f"profiles[0].pluginConfig[0].args.{key}"]


def test_args_of_another_plugin() -> None:
    error = refused(profile_with_args("DefaultPreemption", InterPodAffinityArgs()))
    assert "expected DefaultPreemptionArgs, got InterPodAffinityArgs" in str(error)


def test_errors_can_be_pickled() -> None:
    error = refused({**META, "x": 1})
    assert isinstance(error, ConfigError)
    assert isinstance(error, SchedframeError)
    copy = pickle.loads(pickle.dumps(error))
    assert copy.errors == error.errors
    assert str(copy) == str(error)


def test_null_equals_absent() -> None:
    source = {**META, "parallelism": None, "profiles": [None], "extenders": None, "leaderElection": None}
    assert load_config(source) == load_config(None)


def test_numbers_without_a_fraction_are_integers() -> None:
    assert load_config({**META, "parallelism": 4.0}).parallelism == 4


def test_python_values_are_checked_too() -> None:
    error = refused(KubeSchedulerConfiguration(parallelism="4"))  # type: ignore[arg-type]
    assert [each.field for each in error.errors] == ["parallelism"]


def test_python_values_and_document_agree() -> None:
    from_values = load_config(
        KubeSchedulerConfiguration(
            profiles=(
                KubeSchedulerProfile(
                    "mine",
                    plugin_config=(
                        PluginConfig(
                            "DefaultPreemption", DefaultPreemptionArgs(min_candidate_nodes_absolute=7)
                        ),
                    ),
                ),
            ),
            extenders=(
                Extender(
                    "http://a/",
                    filter_verb="f",
                    enable_https=True,
                    http_timeout=Duration.of(3),
                    tls_config=ExtenderTLSConfig(ca_data=CERTIFICATE),
                ),
            ),
        ),
    )
    from_document = load_config(
        HEAD
        + """\
profiles:
- schedulerName: mine
  pluginConfig:
  - name: DefaultPreemption
    args: {minCandidateNodesAbsolute: 7}
extenders:
- urlPrefix: http://a/
  filterVerb: f
  enableHTTPS: true
  httpTimeout: 3s
  tlsConfig: {caData: $CERTIFICATE}
""".replace("$CERTIFICATE", b64encode(CERTIFICATE).decode()),
    )
    assert from_values == from_document


def test_ready_args_in_a_document() -> None:
    args = DefaultPreemptionArgs(min_candidate_nodes_percentage=20)
    config = load_config(profile_with_args("DefaultPreemption", args))
    assert config.profiles[0].plugin_args["DefaultPreemption"] is args


def test_args_hold_api_values() -> None:
    required = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
    }
    source = profile_with_args(
        "NodeAffinity", {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    )
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    spread = {
        "name": "PodTopologySpread",
        "args": {"defaultingType": "List", "defaultConstraints": [constraint]},
    }
    source["profiles"][0]["pluginConfig"].append(spread)
    args = load_config(source).profiles[0].plugin_args
    assert isinstance(args["NodeAffinity"], NodeAffinityArgs)
    affinity = args["NodeAffinity"].added_affinity
    assert isinstance(affinity, NodeAffinity)
    assert affinity.required is not None
    assert affinity.required.terms[0].match_expressions[0].values == ("b",)
    assert args["PodTopologySpread"].default_constraints == (
        TopologySpreadConstraint(1, "zone", "DoNotSchedule"),
    )


def test_api_values_in_args_are_strict() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "minDomain": 2}
    error = refused(profile_with_args("PodTopologySpread", {"defaultConstraints": [constraint]}))
    field = "profiles[0].pluginConfig[0].args.defaultConstraints[0].minDomain"
    assert [each.field for each in error.errors] == [field]
    assert "did you mean minDomains?" in str(error)


class Mode(Enum):
    SLOW = "slow"


@define
class Nested:
    size: float
    inner: tuple[Nested, ...] = ()


@define
class ManyArgs:
    """Fields of all types that arguments may have."""

    name: str
    mode: Mode = Mode.SLOW
    level: Literal["low", "high"] = "low"
    wait: Duration = field(default=Duration())
    key: bytes = b""
    limits: dict[str, int] = field(factory=dict)
    words: frozenset[str] = frozenset()
    amount: int | str = 0
    share: float = field(default=0.5, validator=validators.le(1.0))
    parts: Sequence[Nested] = ()


def test_fields_of_all_types() -> None:
    data = {
        "name": "a",
        "mode": "slow",
        "level": "high",
        "wait": "2s",
        "key": "aGk=",
        "limits": {"x": 1.0, "y": None},
        "words": ["a", "a"],
        "amount": "50%",
        "share": 1,
        "parts": [{"size": 2, "inner": [{"size": 3.5}]}],
    }
    made = structure_args(data, ManyArgs)
    parts = (Nested(2.0, (Nested(3.5),)),)
    limits = {"x": 1, "y": 0}
    expected = ManyArgs(
        "a", Mode.SLOW, "high", Duration.of(2), b"hi", limits, frozenset("a"), "50%", 1.0, parts
    )
    assert made == expected
    assert structure_args(unstructure(made), ManyArgs) == made


def test_all_mistakes_of_one_object_are_found_at_once() -> None:
    data = {
        "mode": "fast",
        "level": 5,
        "wait": None,
        "key": "?",
        "limits": {"a.b/c": 2**63},
        "share": 0.1,
        "parts": [{"siz": 1}, 7],
        5: "x",
    }
    with pytest.raises(StructureError) as caught:
        structure_args(data, ManyArgs)
    assert sorted((each.field, each.type.name) for each in caught.value.errors) == [
        ("$.5", "TYPE_INVALID"),
        ("$.key", "TYPE_INVALID"),
        ("$.level", "INVALID"),
        ('$.limits["a.b/c"]', "TYPE_INVALID"),
        ("$.mode", "INVALID"),
        ("$.name", "REQUIRED"),
        ("$.parts[0].siz", "UNKNOWN"),
        ("$.parts[0].size", "REQUIRED"),
        ("$.parts[1]", "TYPE_INVALID"),
        ("$.wait", "TYPE_INVALID"),
    ]
    assert {each.value for each in caught.value.errors} >= {"fast", 5, "?", 2**63, 7}


def test_what_a_validator_refuses_is_named() -> None:
    with pytest.raises(StructureError) as caught:
        structure_args({"name": "a", "share": 2}, ManyArgs)
    assert [(each.field, each.value) for each in caught.value.errors] == [("$.share", 2)]
