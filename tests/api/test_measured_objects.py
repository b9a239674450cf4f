"""Every object of the measured cases is decoded, and encoded to an equal manifest."""

from __future__ import annotations

import pytest

from schedframe.api import from_manifest, to_manifest
from tests.conformance.corpus import Corpus, manifests_in

CORPUS = Corpus()
REFUSED = {"requests-138"}
"""Cases with a pod that asks for less than its containers, which the scheduler was given without a server."""


@pytest.mark.parametrize("family", sorted(CORPUS.families - {"config"}))
def test_objects_are_read_and_written(family: str) -> None:
    for case in CORPUS.cases(family):
        strict = case.get("name") not in REFUSED
        for manifest in manifests_in(case):
            made = from_manifest(manifest, required=True, strict=strict)
            assert from_manifest(to_manifest(made), strict=strict) == made
