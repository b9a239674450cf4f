"""Mistakes at every depth of hand-written manifests, in text as editors and generators leave it.

Each is refused at its line, with the path of the field and a fix; without the mistake the text is accepted.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

import pytest
import yaml

from schedframe.api import CONTROLLER_KINDS, load_manifests
from schedframe.errors import InputError

COUNT: Final = 20
MARK: Final = "KeyOfTheMistake"

POD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web",
        "labels": {"app.kubernetes.io/name": "web", "tier": "front"},
        "annotations": {"example.com/Any-Thing": "x y"},
    },
    "spec": {
        "nodeSelector": {"disk": "ssd"},
        "priority": 5,
        "containers": [
            {
                "name": "main",
                "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": 1}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81, "hostPort": 81}],
                "env": [{"name": "A", "value": "1"}],
            },
            {"name": "side", "image": "x"},
        ],
        "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 5,
                        "preference": {"matchExpressions": [{"key": "gpu", "operator": "DoesNotExist"}]},
                    }
                ],
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "podAffinityTerm": {
                            "topologyKey": "zone",
                            "namespaces": ["x"],
                            "labelSelector": {
                                "matchLabels": {"app": "web"},
                                "matchExpressions": [{"key": "v", "operator": "NotIn", "values": ["1"]}],
                            },
                        },
                    }
                ]
            },
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "minDomains": 2,
            }
        ],
    },
}
NODE: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}], "unschedulable": False},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": 110}, "images": [{"names": ["x"]}]},
}
DEPLOYMENT: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
        },
    },
}
CLAIM: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "fast",
        "volumeMode": "Filesystem",
    },
}
RIGHT: Final = (POD, NODE, DEPLOYMENT, CLAIM)


class Member(NamedTuple):
    """A member of a mapping somewhere in a manifest."""

    parent: dict[str, Any]
    key: str
    path: str

    @property
    def value(self) -> Any:
        """What is there."""
        return self.parent[self.key]

    def replace(self, value: Any, key: str = MARK) -> None:
        """Put another value, under another key, in the same place."""
        members = [(key, value) if name == self.key else (name, old) for name, old in self.parent.items()]
        self.parent.clear()
        self.parent.update(members)


def members(value: Any, path: str = "") -> Iterator[Member]:
    """Yield all members of all mappings in a manifest, with their paths."""
    if isinstance(value, dict):
        for key, entry in value.items():
            inner = f"{path}.{key}" if path else key
            yield Member(value, key, inner)
            yield from members(entry, inner)
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from members(entry, f"{path}[{index}]")


def ends(*keys: str) -> Callable[[Member], bool]:
    """Return whether a member has one of these keys."""
    return lambda member: member.key in keys


def inside(*parts: str) -> Callable[[Member], bool]:
    """Return whether the parent of a member is one of these."""
    return lambda member: member.path.rpartition(".")[0].rpartition(".")[2] in parts


ENUMERATIONS: Final = ("operator", "effect", "whenUnsatisfiable", "volumeMode", "protocol")
NUMBERS: Final = ("weight", "maxSkew", "replicas", "containerPort", "hostPort", "minDomains")
QUANTITIES: Final = inside("requests", "limits", "allocatable")
TEXTS: Final = ("name", "topologyKey", "key", "storageClassName", "image")
LABELS: Final = inside("labels", "matchLabels")


def other_case(value: str) -> str:
    return value.upper() if value != value.upper() else value.lower()


MISTAKES: Final[dict[str, tuple[Callable[[Member], bool], Callable[[Random, Any], Any]]]] = {
    "text as number": (ends(*NUMBERS), lambda rng, value: rng.choice([f"{value}", "many", f"{value}x"])),
    "number below its least": (ends(*NUMBERS), lambda rng, value: rng.choice([-1, -(2**40), -5])),
    "number as text": (ends(*TEXTS), lambda rng, value: rng.choice([5, 1.5, True])),
    "amount that is no amount": (
        QUANTITIES,
        lambda rng, value: rng.choice(["1 Gi", "lots", "1gi", "500mm", "", True, [1], {"a": 1}, "1,5"]),
    ),
    "amount below zero": (QUANTITIES, lambda rng, value: rng.choice(["-1", -1, "-500m", "-1Gi"])),
    "case of an enumeration": (ends(*ENUMERATIONS), lambda rng, value: other_case(value)),
    "value outside an enumeration": (ends(*ENUMERATIONS), lambda rng, value: rng.choice(["Never", "none"])),
    "mapping in place of a list": (
        lambda member: isinstance(member.value, list),
        lambda rng, value: rng.choice([{"a": 1}, "text", 5]),
    ),
    "list in place of a mapping": (
        lambda member: isinstance(member.value, dict) and member.key != "metadata",
        lambda rng, value: [value],
    ),
    "label value": (LABELS, lambda rng, value: rng.choice(["a b", "x/y", "-a", "a" * 64, "ä"])),
    "label value of another type": (LABELS, lambda rng, value: rng.choice([5, True, ["a"], {"a": "b"}])),
}


def listed(text: str) -> str:
    """Return a block of YAML as the second item of a List."""
    items = [NODE, yaml.safe_load(text)]
    return yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}, sort_keys=False)


FIRST: Final = "kind: Node\nmetadata:\n  name: a\n"
FORMS: Final[dict[str, Callable[[str], str]]] = {
    "block": lambda text: text,
    "CRLF, two documents": lambda text: f"kind: Node\nmetadata:\n  name: a\n---\n{text}".replace(
        "\n", "\r\n"
    ),
    "byte order mark": lambda text: f"\ufeff{text}",
    "comments, blank lines": lambda text: f"# first\n\n{text}".replace("\nspec:", "\n\n# what\nspec:  # is"),
    "list": listed,
    "JSON with tabs": lambda text: json.dumps(yaml.safe_load(text), indent="\t"),
    "anchored": lambda text: text.replace("\nspec:", "\nspec: &spec", 1),
    "document ends": lambda text: f"---\n{text}...\n",
}


def line_of(text: str) -> int:
    return next(number for number, each in enumerate(text.splitlines(), start=1) if MARK in each)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_accepted_without_a_mistake(form: str) -> None:
    for manifest in RIGHT:
        text = FORMS[form](yaml.safe_dump(manifest, sort_keys=False))
        assert list(load_manifests(text, kinds=CONTROLLER_KINDS, required=True))
        assert list(load_manifests(text.encode(), kinds=CONTROLLER_KINDS, required=True))


def with_mistake(rng: Random, kind: str) -> tuple[dict[str, Any], str, str]:
    """Return a manifest with a mistake at :data:`MARK`, the key that belongs there and its path."""
    fits, change = MISTAKES[kind]
    while True:
        manifest = copy.deepcopy(rng.choice(RIGHT))
        sites = [member for member in members(manifest) if fits(member)]
        if sites:
            site = rng.choice(sites)
            site.replace(change(rng, site.value))
            return manifest, site.key, site.path


def check(error: InputError, line: int, path: str, text: str) -> None:
    found = [each for each in error.errors if each.location.partition(":")[0] == f"line {line}"]
    assert found, (str(error), line, text)
    assert any(each.path.replace('"', "").startswith(path) or path in each.path for each in found), (
        str(error),
        path,
    )
    assert all(each.fix for each in error.errors), str(error)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", MISTAKES)
def test_each_mistake_has_its_line_its_path_and_a_fix(kind: str, seed: int) -> None:
    rng = Random(f"{kind} {seed}")
    for _ in range(COUNT):
        manifest, key, path = with_mistake(rng, kind)
        form = rng.choice([*FORMS])
        text = FORMS[form](yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True))
        line = line_of(text)
        with pytest.raises(InputError) as caught:
            list(load_manifests(text.replace(MARK, key), kinds=CONTROLLER_KINDS))
        check(caught.value, line, path, text)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_wrong_label_key_has_its_line_its_path_and_a_fix(seed: int) -> None:
    rng = Random(f"label keys {seed}")
    for _ in range(COUNT):
        manifest = copy.deepcopy(rng.choice((POD, NODE, DEPLOYMENT)))
        labels = inside("labels", "matchLabels", "nodeSelector", "annotations")
        site = rng.choice([member for member in members(manifest) if labels(member)])
        site.replace(site.value)
        text = rng.choice([*FORMS.values()])(yaml.safe_dump(manifest, sort_keys=False))
        key = rng.choice(["a b", "a/b/c", "-a", "a_", "/a", "a/", "x" * 64, "Not A/name", "a:b"])
        quoted = text.replace(f'"{MARK}"', json.dumps(key)).replace(MARK, json.dumps(key))
        with pytest.raises(InputError) as caught:
            list(load_manifests(quoted, kinds=CONTROLLER_KINDS))
        check(caught.value, line_of(text), site.path.rpartition(".")[0].partition(".labels")[0], text)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_key_that_comes_twice_in_an_item_of_a_list_has_its_line(seed: int) -> None:
    rng = Random(f"keys that come twice {seed}")
    for _ in range(COUNT):
        manifest = copy.deepcopy(rng.choice((POD, DEPLOYMENT)))
        site = rng.choice([member for member in members(manifest) if "[" in member.path])
        site.parent[MARK] = site.value
        text = rng.choice([*FORMS.values()])(yaml.safe_dump(manifest, sort_keys=False))
        with pytest.raises(InputError) as caught:
            list(load_manifests(text.replace(MARK, site.key), kinds=CONTROLLER_KINDS))
        check(caught.value, line_of(text), site.path, text)
        assert "twice" in str(caught.value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("version", ["v2", "apps/v9", "apps/v1", "extensions/v1beta1"])
def test_a_version_that_a_kind_does_not_have_is_refused_at_its_line(form: str, version: str) -> None:
    text = FORMS[form](yaml.safe_dump({**POD, "apiVersion": MARK}, sort_keys=False))
    with pytest.raises(InputError) as caught:
        list(load_manifests(text.replace(MARK, version)))
    check(caught.value, line_of(text), "apiVersion", text)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("kind: Pod\nmetadata:\n\tname: a\n", 3, "tab"),
        ("kind: Pod\nmetadata: &m\n  name: a\nspec: *nope\n", 4, "nope"),
        ("kind: Pod\nmetadata: {name: a\nspec: {}\n", 3, ""),
        ("kind: Pod\r\nmetadata:\r\n  name: a\r\n  labels: [a]\r\n", 4, "labels"),
        ("\ufeffkind: Pod\nmetadata:\n  nmae: a\n", 3, "name"),
        ("kind: Node\nmetadata: {name: a}\n---\nkind: Pod\nmetadata:\n   name: a\n  labels: {}\n", 7, ""),
        ('{"kind": "Pod",\n "metadata": {"name": "a"}\n', 3, ""),
        ("kind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: 'a\n", 0, ""),
        ("kind: List\nitems:\n- kind: Pod\n  metadata: {name: a}\n- 5\n", 5, "5"),
        ("kind: List\nitems:\n  kind: Pod\n", 2, "list"),
    ],
)
def test_text_that_cannot_be_read_has_its_line(text: str, line: int, word: str) -> None:
    with pytest.raises(InputError) as caught:
        list(load_manifests(text))
    assert not line or f"line {line}" in str(caught.value)
    assert word in str(caught.value)
    assert caught.value.fix
