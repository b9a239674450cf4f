"""SpecMemo: the class of pods that share a spec, found without computing their key."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import define, field

from ...api import ObjectMeta, Pod
from ...framework import Framework
from .class_key import ClassKey
from .equivalence_class import EquivalenceClass
from .skip_cache import SkipCache


@define(eq=False)
class SpecMemo:
    """Kept on a spec; valid for pods with equal namespace, labels, annotations and owner references."""

    framework: Framework
    metadata: ObjectMeta
    key: ClassKey
    eq_class: EquivalenceClass
    skips: SkipCache = field(init=False)
    nominations: Mapping[str, str] = field(init=False)
    """All nominated nodes, by uid of the pod."""
    probed: int = -1
    """Generation of the class in which a search was made to learn what uncached plugins say."""

    def __attrs_post_init__(self) -> None:
        self.skips = SkipCache(self.eq_class)
        self.nominations = self.framework.handle.nominator.nominations

    def is_of(self, framework: Framework, pod: Pod) -> bool:
        """Return whether this holds for *pod*, which has the same spec, and the class was not evicted."""
        one, other = self.metadata, pod.metadata
        if self.framework is not framework or self.eq_class.evicted:
            return False
        return one is other or (
            one.labels == other.labels
            and one.namespace == other.namespace
            and one.annotations == other.annotations
            and one.owner_references == other.owner_references
        )
