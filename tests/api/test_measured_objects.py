"""Every object of the measured cases is decoded, and encoded to an equal manifest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from schedframe.api import from_manifest, to_manifest
from tests.conformance.corpus import Corpus

CORPUS = Corpus()


def _manifests(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "kind" in value and "apiVersion" in value and isinstance(value.get("metadata"), dict):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _manifests(entry)


@pytest.mark.parametrize("family", sorted(CORPUS.families - {"config"}))
def test_objects_are_read_and_written(family: str) -> None:
    for case in CORPUS.cases(family):
        for manifest in _manifests(case):
            made = from_manifest(manifest, required=True)
            assert from_manifest(to_manifest(made)) == made
