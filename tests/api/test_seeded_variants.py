"""Mistakes of many forms, in YAML and JSON, lists and several documents: refused at their line."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest
import yaml

from schedframe.api import KINDS, load_manifests
from schedframe.api.validation import rules
from schedframe.api.validation.published import published_name, published_types
from schedframe.errors import InputError

from .test_seeded_mistakes import Site, _sites, right_manifests

COUNT = 200
MARK = "Key-Of-The-Mistake"
NODE = {"kind": "Node", "metadata": {"name": "a"}}
WRONG: dict[str, list[Any]] = {
    "s": [5, True, ["a"], {"a": 1}, 1.5],
    "t": [5, ["x"], {"a": 1}],
    "b": ["true", 1, [], {"a": 1}, "yes"],
    "[": [5, "text", {"a": 1}, True],
    "{": [5, "text", ["a"], True],
}
"""First letter of a published type → values of other types."""
NUMBERS = ["5", "five", 1.5, [], {"a": 1}, True]


def misspelt(rng: Random, key: str) -> str:
    """Return *key* with a letter too few, too many or in the wrong place, or in another case."""
    at = rng.randrange(1, len(key))
    return rng.choice(
        [
            key[:at] + key[at + 1 :],
            key[: at - 1] + key[at] + key[at - 1] + key[at + 1 :],
            key[:at] + rng.choice("aesz") + key[at:],
            key[0].upper() + key[1:],
            "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key),
            f"{key}s",
        ]
    )


def wrong_value(rng: Random, site: Site) -> Any:
    """Return a value of another type than that of *site*."""
    if site.code in published_types():
        return rng.choice([5, "text", ["a"], True])
    return copy.deepcopy(rng.choice(WRONG.get(site.code[0], NUMBERS)))


def replace(site: Site, key: str, value: Any) -> None:
    """Put *value* at *key* in the place of the member of *site*."""
    members = [(key, value) if name == site.key else (name, old) for name, old in site.parent.items()]
    site.parent.clear()
    site.parent.update(members)


def with_mistake(rng: Random, manifest: dict[str, Any], kind: str) -> str | None:
    """Put a mistake at :data:`MARK` into *manifest*; return the key to write there, ``None`` without one."""
    sites = [
        site
        for site in _sites(manifest, published_name(KINDS[manifest["kind"]]))
        if site.key not in ("kind", "apiVersion", "metadata")
        and (kind != "mistyped" or site.code != "a")
        and (kind != "enumeration" or (site.field in rules.VALUES and site.code[0] != "["))
    ]
    if not sites:
        return None
    site = rng.choice(sites)
    value = site.parent[site.key]
    if kind == "misspelt":
        key = misspelt(rng, site.key)
        if key in published_types().get(site.field.rpartition(".")[0], ()):
            return None  # also a field
        replace(site, MARK, value)
        return key
    if kind == "duplicate":
        site.parent[MARK] = value
        return site.key
    other = wrong_value(rng, site) if kind == "mistyped" else rng.choice([f"{value}s", "nope", f"{value} "])
    replace(site, MARK, other)
    return site.key


def text_of(rng: Random, manifest: dict[str, Any]) -> str:
    """Return the manifest in one of the forms that users write."""
    listed = {"kind": f"{manifest['kind']}List", "apiVersion": manifest["apiVersion"], "items": [manifest]}
    block = yaml.safe_dump(manifest, sort_keys=False)
    forms = [
        block,
        yaml.safe_dump(manifest, sort_keys=False, default_flow_style=None, width=10**6),
        f"---\nkind: Node\nmetadata: {{name: a}}\n---\n{block}",
        yaml.safe_dump(listed, sort_keys=False),
        json.dumps(manifest, indent=1),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, manifest]}, indent=2),
    ]
    return rng.choice(forms)


@pytest.mark.parametrize("kind", ["misspelt", "mistyped", "enumeration", "duplicate"])
def test_each_variant_is_refused_at_its_line(kind: str) -> None:
    rng = Random(f"variants of {kind}")
    refused = 0
    for _ in range(COUNT):
        manifest = copy.deepcopy(rng.choice(right_manifests()))
        key = with_mistake(rng, manifest, kind)
        if key is None:
            continue
        text = text_of(rng, manifest)
        line = next(n for n, each in enumerate(text.splitlines(), start=1) if MARK in each)
        with pytest.raises(InputError) as caught:
            list(load_manifests(text.replace(MARK, key)))
        places = {each.location.partition(":")[0] for each in caught.value.errors}
        assert f"line {line}" in places, (str(caught.value), line, key, text)
        assert all(each.fix for each in caught.value.errors)
        refused += 1
    assert refused > COUNT / 4
