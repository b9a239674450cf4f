"""The kind ElasticQuota."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from schedframe import ObjectMeta, Quantity
from schedframe.api import NamespacedObject


@frozen
class ElasticQuotaSpec:
    """Amounts by resource: ``min`` is guaranteed, ``max`` limits borrowing."""

    min: Mapping[str, Quantity] = field(factory=dict)
    max: Mapping[str, Quantity] = field(factory=dict)


@frozen
class ElasticQuota(NamespacedObject):
    """An ``ElasticQuota`` of ``scheduling.x-k8s.io``; at most one per namespace counts."""

    KIND: ClassVar[str] = "scheduling.x-k8s.io/ElasticQuota"
    API_VERSION: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    __hash__ = NamespacedObject.__hash__

    metadata: ObjectMeta = field(factory=ObjectMeta)
    spec: ElasticQuotaSpec = field(factory=ElasticQuotaSpec)
