"""One pod from a template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import evolve

from ..._base.value import record
from ...api import (
    LabelSelector,
    NamespacedObject,
    ObjectMeta,
    Pod,
    PodSpec,
    PodTemplateSpec,
    compile_label_selector,
)
from ...errors import InputError
from ..names import generated_names
from ..owners import owner_reference
from .existing import Existing

_NOTHING: Final[Mapping[str, str]] = {}


@record(frozen=True)
class PodMaker:
    """Makes the pods of one workload: metadata and spec of the template, owned by the workload."""

    owner: NamespacedObject
    template: PodTemplateSpec
    existing: Existing

    def generated(self, prefix: str, seed: str = "") -> PodMeta:
        """Return the metadata of a pod whose name is *prefix* and a suffix that depends on *seed*."""
        taken = self.existing.pod_names[self.owner.namespace]
        name = next(generated_names(prefix, f"{self.owner.KIND}/{self.owner.key}/{seed}", taken))
        return PodMeta(name, prefix)

    def make(
        self,
        meta: PodMeta,
        *,
        labels: Mapping[str, str] = _NOTHING,
        annotations: Mapping[str, str] = _NOTHING,
        spec: PodSpec | None = None,
    ) -> Pod:
        """Return a pod, and note its name in the index. Without *spec*, pods share that of the template."""
        model = self.template.metadata
        metadata = ObjectMeta(
            name=meta.name,
            generate_name=meta.generate_name,
            namespace=self.owner.metadata.namespace,
            labels={**model.labels, **labels} if labels else model.labels,
            annotations={**model.annotations, **annotations} if annotations else model.annotations,
            owner_references=(owner_reference(self.owner),),
            finalizers=model.finalizers,
        )
        self.existing.pod_names[self.owner.namespace].add(meta.name)
        return Pod(metadata, self.template.spec if spec is None else spec)


@record(frozen=True)
class PodMeta:
    """The name of a pod, and the prefix that it was generated from (empty: none)."""

    name: str
    generate_name: str = ""


def with_labels(template: PodTemplateSpec, labels: Mapping[str, str]) -> PodTemplateSpec:
    """Return *template* with *labels* added."""
    metadata = template.metadata
    return evolve(template, metadata=evolve(metadata, labels={**metadata.labels, **labels}))


def check_template(template: PodTemplateSpec | None, path: str = "spec.template") -> PodTemplateSpec:
    """Return *template*. Raises :class:`InputError` if it is ``None``."""
    if template is None:
        raise InputError(path, "is missing", "write the template of the pods")
    return template


def check_selector(selector: LabelSelector | None, template: PodTemplateSpec) -> None:
    """Raise :class:`InputError` unless *selector* is there and selects the pods of *template*.

    The API server refuses such workloads.
    """
    if selector is None or not (selector.match_labels or selector.match_expressions):
        raise InputError("spec.selector", "is missing", "select the labels of spec.template.metadata")
    if not compile_label_selector(selector).matches(template.metadata.labels):
        raise InputError(
            "spec.selector",
            "does not select the pods of the template",
            "write the same labels in spec.selector.matchLabels and spec.template.metadata.labels",
        )


def check_count(path: str, count: int) -> int:
    """Return *count*. Raises :class:`InputError` if it is below 0."""
    if count < 0:
        raise InputError(path, f"{count} is below 0", "write a number from 0")
    return count
