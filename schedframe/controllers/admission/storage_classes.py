"""DefaultStorageClass: the class of claims that name none.

Rules: plugin/pkg/admission/storage/storageclass/setdefault, pkg/volume/util/storageclass.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from ..._base.value import record
from ...api import STORAGE_CLASS_BETA, PersistentVolumeClaim, StorageClass
from .changes import Change
from .parts import AdmissionPart

IS_DEFAULT: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""Annotations of which ``true`` makes a class the default."""


@record(eq=False)
class DefaultStorageClass:
    """Knows the default class; ``None`` if the cluster has none."""

    default: StorageClass | None = None

    @classmethod
    def of(cls, classes: Iterable[StorageClass]) -> DefaultStorageClass:
        """Return an admission by these *classes*: of several defaults the newest, then the first by name."""
        defaults = (each for each in classes if _is_default(each))
        return cls(
            min(
                defaults, key=lambda each: (-(each.metadata.creation_timestamp or 0), each.name), default=None
            )
        )

    def fill(self, claim: PersistentVolumeClaim, changes: list[Change]) -> PersistentVolumeClaim:
        """Return *claim* with the default class unless it names one; an empty name is one."""
        has_class = (
            claim.spec.storage_class_name is not None or STORAGE_CLASS_BETA in claim.metadata.annotations
        )
        if has_class or self.default is None:
            return claim
        name = self.default.name
        part = AdmissionPart.DEFAULT_STORAGE_CLASS
        changes.append(Change(part, f"class {name}", PersistentVolumeClaim.KIND))
        return evolve(claim, spec=evolve(claim.spec, storage_class_name=name))


def _is_default(found: StorageClass) -> bool:
    return any(found.metadata.annotations.get(key) == "true" for key in IS_DEFAULT)
