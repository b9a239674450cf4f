"""Patches of objects: only what differs is sent."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from schedframe.api import ObjectMeta, PersistentVolumeClaim
from schedframe.api.codec import decoder
from schedframe.cluster.kubernetes import patches
from schedframe.cluster.kubernetes.patches import changes

CLAIM = decoder(PersistentVolumeClaim)(
    {
        "metadata": {"name": "c", "uid": "u", "resourceVersion": "3", "annotations": {"old": "1"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"},
        "status": {"phase": "Pending"},
    }
)


def with_metadata(**fields: Any) -> PersistentVolumeClaim:
    return evolve(CLAIM, metadata=evolve(CLAIM.metadata, **fields))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (CLAIM, {}),
        (with_metadata(resource_version="4"), {}),
        (with_metadata(annotations={"old": "1", "new": "2"}), {"metadata": {"annotations": {"new": "2"}}}),
        (with_metadata(annotations={}), {"metadata": {"annotations": None}}),
        (evolve(CLAIM, metadata=ObjectMeta("c")), {"metadata": {"annotations": None}}),
    ],
)
def test_a_copy_with_other_metadata_is_compared_without_the_rest(
    new: PersistentVolumeClaim, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[str] = []
    monkeypatch.setattr(patches, "to_manifest", lambda obj: encoded.append(obj.name))
    assert changes(CLAIM, new) == (expected, {})
    assert not encoded
    monkeypatch.undo()
    monkeypatch.setattr(patches, "_differs_in_metadata_alone", lambda base, new: False)
    assert changes(CLAIM, new) == (expected, {})


def test_spec_and_status_are_patches_of_their_own() -> None:
    new = evolve(
        with_metadata(annotations={"old": "2"}),
        spec=evolve(CLAIM.spec, volume_name="v"),
        status=evolve(CLAIM.status, phase="Bound"),
    )
    assert changes(CLAIM, new) == (
        {"metadata": {"annotations": {"old": "2"}}, "spec": {"volumeName": "v"}},
        {"status": {"phase": "Bound"}},
    )
