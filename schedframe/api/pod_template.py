"""The template that workloads make their pods from."""

from __future__ import annotations

from attrs import field, frozen

from .._brief import brief_repr
from .._checked import checked
from ._wire import wire
from .codec import encoder
from .metadata import NO_META, ObjectMeta
from .podspec import EMPTY_SPEC, PodSpec, decode_spec


@checked
@brief_repr
@frozen(weakref_slot=False)
class PodTemplateSpec:
    """Labels, annotations and spec of the pods of a workload."""

    metadata: ObjectMeta = NO_META
    spec: PodSpec = field(
        default=EMPTY_SPEC, metadata=wire(always=True, decode=decode_spec, encode=encoder(PodSpec))
    )
