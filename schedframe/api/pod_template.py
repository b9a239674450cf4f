"""The template that workloads make their pods from."""

from __future__ import annotations

from attrs import field

from .._base.value import value
from ._wire import wire
from .metadata import NO_META, ObjectMeta
from .podspec import EMPTY_SPEC, PodSpec, decode_spec, encode_spec


@value(weakref_slot=False)
class PodTemplateSpec:
    """Labels, annotations and spec of the pods of a workload."""

    metadata: ObjectMeta = NO_META
    spec: PodSpec = field(
        default=EMPTY_SPEC, metadata=wire(always=True, decode=decode_spec, encode=encode_spec)
    )
