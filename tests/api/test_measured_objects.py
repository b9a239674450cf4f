"""Every object of the measured cases is decoded, and encoded to an equal manifest."""

from __future__ import annotations

import pytest

from schedframe.api import ADMISSION_KINDS, CONTROLLER_KINDS, from_manifest, to_manifest
from tests.conformance.corpus import Corpus, manifests_in
from tests.profiles import sample

CORPUS = Corpus()
KINDS = (*CONTROLLER_KINDS, *ADMISSION_KINDS)
REFUSED = {"requests-138"}
"""Cases with a pod that asks for less than its containers, which the scheduler was given without a server."""
UNCHECKED = "event_derivation"
"""The family with random changes of objects, such as a taint twice, which no server had to take."""


@pytest.mark.parametrize("family", sorted(CORPUS.families - {"config", "admission"}))
def test_objects_are_read_and_written(family: str) -> None:
    for case in sample(CORPUS.cases(family)):
        strict = family != UNCHECKED and case.get("name") not in REFUSED
        for manifest in manifests_in(case):
            made = from_manifest(manifest, required=True, strict=strict, kinds=KINDS)
            assert from_manifest(to_manifest(made), strict=strict, kinds=KINDS) == made
