"""Hundreds of right manifests are accepted; each with one mistake is refused at the line of the mistake."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import pytest
import yaml

from schedframe.api import KINDS, load_manifests
from schedframe.api.validation import rules
from schedframe.api.validation.published import published_name, published_types
from schedframe.errors import InputError, InputErrors
from tests.conformance.corpus import Corpus, manifests_in

COUNT = 600
MARKER = "Wrong-Marker"
NUMBER = 987654321

PROBE = {
    "httpGet": {"path": "/", "port": 80, "httpHeaders": [{"name": "A", "value": "b"}]},
    "periodSeconds": 5,
}
CONTAINER_EXTRAS = {
    "livenessProbe": PROBE,
    "readinessProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 3},
    "lifecycle": {"preStop": {"exec": {"command": ["sleep", "5"]}}},
    "securityContext": {"runAsUser": 1000, "capabilities": {"drop": ["ALL"]}, "privileged": False},
    "env": [
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "B", "value": ""},
    ],
    "envFrom": [{"configMapRef": {"name": "settings", "optional": True}}],
    "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
    "imagePullPolicy": "IfNotPresent",
    "terminationMessagePolicy": "File",
    "stdin": True,
}
POD_EXTRAS = {
    "terminationGracePeriodSeconds": 30,
    "dnsConfig": {"nameservers": ["10.0.0.1"], "options": [{"name": "ndots", "value": "5"}]},
    "securityContext": {"fsGroup": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
    "serviceAccountName": "default",
    "hostAliases": [{"ip": "10.0.0.2", "hostnames": ["a.example"]}],
    "readinessGates": [{"conditionType": "example.com/ready"}],
    "restartPolicy": "Never",
    "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    "enableServiceLinks": False,
    "imagePullSecrets": [{"name": "registry"}],
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeTaintsPolicy": "Honor",
        }
    ],
}
META_EXTRAS = {
    "finalizers": ["example.com/guard"],
    "managedFields": [
        {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}
    ],
    "selfLink": "/api/v1",
}


class Site(NamedTuple):
    """A member of an object with published fields."""

    parent: dict[str, Any]
    key: str
    code: str
    field: str


def _of_corpus() -> list[dict[str, Any]]:
    """Return the measured objects of the kinds that scheduling reads, but for those that may be wrong."""
    corpus = Corpus()
    found = []
    for family in sorted(corpus.families - {"config", "admission", "event_derivation"}):
        for case in corpus.cases(family):
            found += (each for each in manifests_in(case) if each["kind"] in KINDS)
    return found


def _with_extras(rng: Random, manifest: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(manifest)
    _add_some(rng, made["metadata"], META_EXTRAS)
    if made["kind"] == "Pod":
        spec = made.setdefault("spec", {})
        _add_some(rng, spec, POD_EXTRAS)
        for container in spec.get("containers") or []:
            _add_some(rng, container, CONTAINER_EXTRAS)
            if container.get("volumeMounts") == CONTAINER_EXTRAS["volumeMounts"]:
                _add_volume(spec)
    return made


def _add_volume(spec: dict[str, Any]) -> None:
    """Add the volume that a container mounts, unless the pod has one of that name."""
    volumes = spec.setdefault("volumes", [])
    if all(volume["name"] != "data" for volume in volumes):
        volumes.append({"name": "data", "emptyDir": {}})


def _add_some(rng: Random, to: dict[str, Any], extras: dict[str, Any]) -> None:
    for key, value in extras.items():
        if rng.random() < 0.3:
            to.setdefault(key, copy.deepcopy(value))


@cache
def right_manifests() -> list[dict[str, Any]]:
    """Return manifests of all measured kinds, with fields that scheduling does not read, to be copied."""
    rng = Random(20)
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for manifest in _of_corpus():
        by_kind.setdefault(manifest["kind"], []).append(manifest)
    kinds = sorted(by_kind)
    # every second one is a pod
    drawn = ["Pod" if i % 2 else kinds[i // 2 % len(kinds)] for i in range(COUNT)]
    return [_with_extras(rng, rng.choice(by_kind[kind])) for kind in drawn]


def _sites(value: Any, code: str, field: str = "") -> Iterator[Site]:
    types = published_types()
    if code in types and isinstance(value, dict):
        for key, entry in value.items():
            inner = types[code][key]
            yield Site(value, key, inner, f"{code}.{key}")
            yield from _sites(entry, inner, f"{code}.{key}")
    elif code[0] == "[" and isinstance(value, list):
        for entry in value:
            yield from _sites(entry, code[1:], field)
    elif code[0] == "{" and isinstance(value, dict):
        for entry in value.values():
            yield from _sites(entry, code[1:], field)


def _misspell(site: Site) -> str:
    # a letter more, with the members in the order they had
    wrong = f"{site.key}Zz"
    members = [(wrong if key == site.key else key, value) for key, value in site.parent.items()]
    site.parent.clear()
    site.parent.update(members)
    return f'"{wrong}":'


def _mistype(site: Site) -> str:
    site.parent[site.key] = NUMBER if site.code in ("s", "t") else MARKER
    return str(site.parent[site.key])


def _outside_enumeration(site: Site) -> str:
    site.parent[site.key] = [MARKER] if site.code[0] == "[" else MARKER
    return MARKER


def _repeat(site: Site) -> str:
    site.parent[MARKER] = site.parent[site.key]
    return f'"{MARKER}":'


def _is_required(site: Site) -> bool:
    name, _, key = site.field.rpartition(".")
    return key in rules.REQUIRED.get(name, ())


MISTAKES = {
    "misspelt": (_misspell, lambda site: site.key not in ("kind", "apiVersion", "metadata")),
    "mistyped": (_mistype, lambda site: site.code != "a" and site.key not in ("kind", "apiVersion")),
    "enumeration": (_outside_enumeration, lambda site: site.field in rules.VALUES),
    "duplicate": (_repeat, lambda site: True),
}


def _line_with(text: str, mark: str, *, yaml_keys: bool) -> int:
    wanted = mark.replace('"', "") if yaml_keys else mark
    lines = [number for number, line in enumerate(text.splitlines(), start=1) if wanted in line]
    assert lines, wanted
    return lines[0]


def _text(manifest: dict[str, Any], *, as_yaml: bool) -> str:
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"kind": "Node", "metadata": {"name": "a"}}, manifest],
    }
    return yaml.safe_dump(listed, sort_keys=False) if as_yaml else json.dumps(listed, indent=1)


@pytest.mark.parametrize("as_yaml", [True, False], ids=["yaml", "json"])
def test_right_manifests_are_accepted(as_yaml: bool) -> None:
    for manifest in right_manifests():
        text = _text(manifest, as_yaml=as_yaml)
        assert len(list(load_manifests(text, required=True))) == len(list(load_manifests(text))) == 2


@pytest.mark.parametrize("kind", MISTAKES)
def test_each_mistake_is_refused_at_its_line(kind: str) -> None:
    rng = Random(kind)
    change, fits = MISTAKES[kind]
    refused = 0
    for index, manifest in enumerate(right_manifests()):
        wrong = copy.deepcopy(manifest)
        root = published_name(KINDS[wrong["kind"]])
        sites = [site for site in _sites(wrong, root) if fits(site)]
        if not sites:
            assert kind == "enumeration"
            continue
        site = rng.choice(sites)
        mark = change(site)
        as_yaml = index % 2 == 0
        text = _text(wrong, as_yaml=as_yaml)
        line = _line_with(text, mark, yaml_keys=as_yaml)
        if kind == "duplicate":
            text = text.replace(
                mark if not as_yaml else f"{MARKER}:", f'"{site.key}":' if not as_yaml else f"{site.key}:"
            )
        with pytest.raises(InputError) as caught:
            list(load_manifests(text))
        assert caught.value.location.startswith(f"line {line}: item 1"), (str(caught.value), line, text)
        assert caught.value.fix
        refused += 1
    assert refused >= (250 if kind == "enumeration" else COUNT)


def test_each_missing_field_is_refused_at_its_object() -> None:
    rng = Random("missing")
    refused: set[str] = set()
    for index in range(COUNT):
        manifest = copy.deepcopy(right_manifests()[index])
        sites = [
            site for site in _sites(manifest, published_name(KINDS[manifest["kind"]])) if _is_required(site)
        ]
        if not sites:
            continue
        site = rng.choice(sites)
        if rng.random() < 0.5:
            del site.parent[site.key]
        else:
            site.parent[site.key] = [] if site.code[0] == "[" else None
        with pytest.raises(InputError) as caught:
            list(load_manifests(json.dumps(manifest), required=True))
        missing = [error for error in caught.value.errors if error.problem == "is missing or empty"]
        assert {error.path.rpartition(".")[2] for error in missing} == {site.key}
        assert caught.value.fix
        refused.add(site.field)
    assert len(refused) > 12


def test_all_mistakes_of_a_text_are_in_one_error() -> None:
    rng = Random("many")
    for _ in range(40):
        wrong, marks = [], []
        for manifest in rng.sample(right_manifests(), 5):
            bad = copy.deepcopy(manifest)
            change, fits = MISTAKES["misspelt"]
            site = rng.choice(
                [each for each in _sites(bad, published_name(KINDS[bad["kind"]])) if fits(each)]
            )
            marks.append(f"{bad['kind']}: {change(site)}")
            wrong.append(bad)
        documents = [json.dumps({"kind": "Node", "metadata": {"name": "a"}}), *map(_indented, wrong)]
        text = "\n".join(documents)
        objects: list[Any] = []
        with pytest.raises(InputErrors) as caught:
            objects.extend(load_manifests(text, required=True))
        assert len(caught.value.errors) == len(wrong), str(caught.value)
        lines = text.splitlines()
        for error, number, mark in zip(caught.value.errors, range(2, 7), marks, strict=True):
            line = int(error.location.split(":")[0].removeprefix("line "))
            assert mark.partition(": ")[2] in lines[line - 1], str(error)
            assert f"document {number}, " in error.location


def _indented(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=1)


def test_the_decoders_read_published_fields_only() -> None:
    from schedframe.api.codec import _fields

    for cls in KINDS.values():
        fields = published_types()[published_name(cls)]
        assert {each.key for each in _fields(cls)} <= set(fields)
