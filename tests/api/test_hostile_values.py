"""Values of any size and depth in manifests and configurations: a short message, and no other exception."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import pytest

from schedframe import from_manifest
from schedframe._base.brief import brief, shown
from schedframe.api import KINDS, parse_quantity, parse_time, version_number
from schedframe.api._text import encodable, json_source, without_surrogates
from schedframe.config import load_config
from schedframe.errors import InputError, SchedframeError

HUGE = 16**20_000 - 1


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": [value]}
    return value


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


VALUES: dict[str, Any] = {
    "huge": HUGE,
    "negative": -HUGE,
    "deep": nested(2000),
    "unprintable": Unprintable(),
    "long": "x" * 10**6,
    "bytes": b"x" * 10**6,
    "surrogates": "\ud800" * 100,
    "huge key": {HUGE: 1},
    "long key": {"k" * 10**6: 5},
    "huge inside": [HUGE],
    "nan": float("nan"),
    "infinite": float("inf"),
}
POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
    "spec": {
        "priority": 5,
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}, "ports": [{"hostPort": 80}]}],
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 3}],
        "hostNetwork": False,
    },
}
NODE: dict[str, Any] = {
    "kind": "Node",
    "metadata": {"name": "n"},
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": True},
    "status": {"allocatable": {"cpu": "4"}, "images": [{"names": ["a:1"], "sizeBytes": 5}]},
}
CLAIM: dict[str, Any] = {
    "kind": "ResourceClaim",
    "apiVersion": "resource.k8s.io/v1",
    "metadata": {"name": "c"},
    "spec": {"devices": {"config": [{"opaque": {"driver": "d", "parameters": {"x": 1}}}]}},
}
CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 16,
    "leaderElection": {"leaderElect": True, "leaseDuration": "15s"},
    "profiles": [
        {
            "schedulerName": "s",
            "plugins": {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 2}]}},
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "x"}}}],
        }
    ],
    "extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "httpTimeout": "5s"}],
}


def places(value: Any, steps: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [steps, *(place for step, each in inside for place in places(each, (*steps, step)))]


def changed(manifest: dict[str, Any], steps: tuple[Any, ...], value: Any) -> dict[str, Any]:
    made = copy.deepcopy(manifest)
    place: Any = made
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    return made


def check_message(error: SchedframeError) -> None:
    assert len(str(error)) < 20_000
    assert len(repr(error)) < 1000


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("manifest", [POD, NODE, CLAIM], ids=lambda each: each["kind"])
@pytest.mark.parametrize("strict", [True, False])
def test_manifests(manifest: dict[str, Any], value: Any, strict: bool) -> None:
    refused = 0
    for steps in places(manifest)[1:]:
        try:
            from_manifest(changed(manifest, steps, value), strict=strict)
        except SchedframeError as error:
            check_message(error)
            refused += 1
    assert refused


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_configurations(value: Any) -> None:
    refused = 0
    for steps in places(CONFIG)[1:]:
        try:
            load_config(changed(CONFIG, steps, value))
        except SchedframeError as error:
            check_message(error)
            refused += 1
    assert refused


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_texts_of_values_are_short(value: Any) -> None:
    assert len(shown(value)) <= 60
    assert len(shown(value, 200)) <= 200
    if not isinstance(value, Unprintable):
        assert len(brief(value)) <= 200
    for read in (parse_quantity, parse_time):
        with suppress(InputError):
            read(value)


def test_parameters_are_read_to_a_depth_that_every_part_of_the_scheduler_handles() -> None:
    def claim(parameters: Any) -> dict[str, Any]:
        config = [{"opaque": {"driver": "d", "parameters": parameters}}]
        return {**CLAIM, "spec": {"devices": {"config": config}}}

    from_manifest(claim(nested(250)), strict=False)
    with pytest.raises(InputError, match="parameters: nesting of more than 512 levels"):
        from_manifest(claim(nested(256)), strict=False)
    itself: dict[str, Any] = {}
    itself["a"] = itself["b"] = itself
    with pytest.raises(InputError, match="nesting"):
        from_manifest(claim(itself), strict=False)
    many: Any = {}
    for _ in range(200):
        many = [many] * 10
    from_manifest(claim(many), strict=False)


@pytest.mark.parametrize(
    "text",
    [
        *(" 1", "1 ", "1\n", "\t1", "\u00a01", "1\u2003", "1 Ki", "１", "١", "²", "1_000", "1,000", "0x10"),
        *(
            "1e",
            "1e5m",
            "1Ki5",
            "--1",
            "+-1",
            "- 1",
            "1e 5",
            "1e1.5",
        ),
        *("infinity", "nan", "1mm", "1 m", "1.1.1", "", "+", ".", "Ki", "True", "1\x00"),
    ],
)
def test_what_is_no_quantity_of_kubernetes(text: str) -> None:
    with pytest.raises(InputError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [("+1", "1"), ("1.", "1"), (".5", "500m"), ("00", "0"), ("1E", "1E"), ("1e+3", "1e3")],
)
def test_odd_quantities_that_kubernetes_takes(text: str, written: str) -> None:
    assert str(parse_quantity(text)) == written


def test_resource_versions() -> None:
    versions = ("5", "007", "", "a", "-1", "²", "١", "1_0", " 1", "9" * 5000)
    assert [version_number(each) for each in versions] == [5, 7, *[None] * 8]


def test_surrogates_become_what_go_makes_of_them() -> None:
    assert without_surrogates("a\ud800\udc00é\U00010000") == "a\ufffd\ufffdé\U00010000"
    assert encodable({"\ud800": ["\udfff", 5, None, ("x",)]}) == {"\ufffd": ["\ufffd", 5, None, ["x"]]}
    assert json_source(rb'"\uD800 \\ud800 \ud83d\ude00"') == r'"\ufffd \\ud800 \ud83d\ude00"'
    assert json_source(b"\xf0\x9f\x98 \xff") == "\ufffd\ufffd\ufffd \ufffd"


def test_every_kind_is_read_with_a_name_of_any_form() -> None:
    for kind, cls in KINDS.items():
        for value in VALUES.values():
            manifest = {"kind": kind, "apiVersion": cls.API_VERSION, "metadata": {"name": value}}
            try:
                from_manifest(manifest)
            except SchedframeError as error:
                check_message(error)
