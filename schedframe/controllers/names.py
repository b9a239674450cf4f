"""Names, hashes and uids that the same workload always gets again."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from attrs import evolve

from ..api import ClusterObject, PodTemplateSpec, part_to_manifest
from .lookup import Lookup

ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters of generated names: without vowels, so that no words come about."""

SUFFIX_LENGTH: Final = 5
"""Characters that a generated name has after its prefix."""

LONGEST_PREFIX: Final = 58
"""Characters that are kept of a prefix, so that the name fits into a label of DNS (63 characters)."""

_SUFFIXES: Final = len(ALPHABET) ** SUFFIX_LENGTH
_STRIDE: Final = 8_675_311
"""Distance of successive suffixes. It has no factor in common with their number, so none comes twice."""


def _digest(text: str) -> int:
    import hashlib  # loads OpenSSL, 3 MB

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _letters(number: int, length: int) -> str:
    letters = []
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return "".join(letters)


def generated_names(prefix: str, seed: str, taken: Container[str]) -> Iterator[str]:
    """Yield names that begin with *prefix* and are not *taken*; *seed* decides how they end."""
    prefix, start = prefix[:LONGEST_PREFIX], _digest(seed)
    for number in range(_SUFFIXES):
        name = prefix + _letters((start + number * _STRIDE) % _SUFFIXES, SUFFIX_LENGTH)
        if name not in taken:
            yield name


def template_hash(template: PodTemplateSpec) -> str:
    """Return the text that distinguishes a template from later ones of the same workload."""
    return _letters(_digest(content_of(template)), 10)


def content_of(value: object) -> str:
    """Return a text that equal values of the API have in common, and others do not."""
    return json.dumps(part_to_manifest(value), sort_keys=True, default=str)


def with_uid(obj: Any) -> Any:
    """Return *obj* with a uid: its own, or one that depends on its kind and name."""
    if obj.uid:
        return obj
    return evolve(obj, metadata=evolve(obj.metadata, uid=uid_of(obj)))


def uid_of(obj: ClusterObject) -> str:
    """Return the uid of *obj*, or the one that :func:`with_uid` gives it."""
    return obj.uid or str(uuid5(NAMESPACE_OID, f"{obj.KIND}/{obj.key}"))


class _Taken:
    """The keys of a kind that are there."""

    def __init__(self, kind: str, namespace: str, cluster: Lookup) -> None:
        self._kind, self._namespace, self._cluster = kind, namespace, cluster

    def __contains__(self, name: object) -> bool:
        return self._cluster.get(self._kind, f"{self._namespace}/{name}") is not None


def free_name(kind: str, namespace: str, prefix: str, cluster: Lookup) -> str:
    """Return *prefix* with an end that no object of the kind has; equal objects get equal names."""
    return next(generated_names(prefix, f"{kind}/{namespace}/{prefix}", _Taken(kind, namespace, cluster)))
