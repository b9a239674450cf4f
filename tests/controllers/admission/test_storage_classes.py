"""DefaultStorageClass: claims without a class get the default one."""

from __future__ import annotations

from typing import Any

import pytest

from schedframe.api import Pod

from .made import admission, admit, claim, decoded, pod, storage_class

STABLE = {"storageclass.kubernetes.io/is-default-class": "true"}
BETA = {"storageclass.beta.kubernetes.io/is-default-class": "true"}
OFF = {"storageclass.kubernetes.io/is-default-class": "false"}


def class_of(manifest: dict[str, Any], *classes: dict[str, Any], **options: Any) -> str | None:
    name: str | None = admit(manifest, *classes, **options).object.spec.storage_class_name
    return name


@pytest.mark.parametrize("annotations", [STABLE, BETA])
def test_claims_without_a_class_get_the_default(annotations: dict[str, str]) -> None:
    classes = [storage_class("slow", annotations=OFF), storage_class("fast", annotations=annotations)]
    assert class_of(claim(), *classes) == "fast"


def test_without_a_default_they_stay_without() -> None:
    assert class_of(claim(), storage_class("slow", annotations=OFF), storage_class("other")) is None


def test_a_class_that_is_named_stays() -> None:
    default = storage_class("fast", annotations=STABLE)
    assert class_of(claim(storageClassName="slow"), default) == "slow"
    assert class_of(claim(storageClassName=""), default) == ""
    beta = claim()
    beta["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "slow"}
    assert class_of(beta, default) is None


def test_of_several_defaults_the_newest_counts_and_then_the_first_by_name() -> None:
    old, new, same = (
        storage_class(name, annotations=STABLE, creationTimestamp=f"2026-01-0{day}T00:00:00Z")
        for name, day in (("a", 1), ("c", 2), ("b", 2))
    )
    assert class_of(claim(), old, new) == "c"
    assert class_of(claim(), old, new, same) == "b"
    assert class_of(claim(), old, storage_class("new", annotations=STABLE)) == "a"


def test_templates_of_ephemeral_volumes_stay_as_they_are() -> None:
    template = {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}}
    volumes = [{"name": "v", "ephemeral": template}]
    found = admit(pod(volumes=volumes), storage_class("fast", annotations=STABLE)).object
    assert isinstance(found, Pod)
    assert found.spec.volumes == decoded(pod(volumes=volumes)).spec.volumes


def test_it_can_be_switched_off() -> None:
    default = storage_class("fast", annotations=STABLE)
    assert class_of(claim(), default, without=["DefaultStorageClass"]) is None


def test_the_deed_is_counted() -> None:
    admitting = admission(storage_class("standard", annotations=STABLE))
    for name in ("a", "b"):
        admitting.admit(decoded(claim(name=name)))
    assert admitting.lines() == ["DefaultStorageClass: class standard (2 claims)"]
