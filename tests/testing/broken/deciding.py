"""Faults of filter and score, and of what a plugin says about them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt
from attrs import define, field

from schedframe import (
    CycleState,
    Depends,
    NodeInfo,
    Pod,
    Rows,
    RowVerdicts,
    StateKey,
    Status,
    hookimpl,
)

from .correct import GPU, NOTE, DiskByLabel, OneOfAnApp, TeamOfNamespace
from .precomputing import (
    ChangesWhatIsShared,
    FullCluster,
    NamesTooFew,
    NeedsTheTable,
    NotKeptInStep,
    RemovesTwice,
    SkipsTooMuch,
)
from .shortcuts import (
    NO,
    RejectsOfPodsDisagree,
    ScoresOfGroupsDisagree,
    ScoresOfPodsDisagree,
    TooFewVerdictsOfPods,
    VerdictsOfGroupsDisagree,
    VerdictsOfPodsDisagree,
)

Scores = npt.NDArray[np.int64]
OTHERWISE: Final = Status.unschedulable("for another reason")


@define(eq=False)
class ScoreThatCounts:
    """Each answer is one more than the last."""

    calls: int = 0

    @hookimpl
    def score(self) -> int:
        self.calls += 1
        return self.calls % 100


@define(eq=False)
class ScoreOfFirstComeFirst:
    """The first node that is asked about gets more: depends on the order."""

    first: dict[str, str] = field(factory=dict)

    @hookimpl
    def pre_score(self, pod: Pod) -> None:
        self.first.clear()

    @hookimpl
    def score(self, pod: Pod, node_info: NodeInfo) -> int:
        first = self.first.setdefault(pod.uid, node_info.name) == node_info.name
        self.first[pod.uid] = node_info.name
        return 9 if first else 1


@define(eq=False)
class PodKeptInThePlugin:
    """What pre_filter found out is kept in the plugin and not in the cycle state."""

    wanted: int = 0

    @hookimpl
    def pre_filter(self, pod: Pod) -> None:
        self.wanted = pod.requests.get(GPU, 0)

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if self.wanted > node_info.allocatable.get(GPU, 0) else None


_SEEN: Final = StateKey[list[str]]("RejectsWhatItSaw")


@define(eq=False)
class RejectsWhatItSaw:
    """filter writes into what pre_filter wrote."""

    @hookimpl
    def pre_filter(self, state: CycleState) -> None:
        state.write(_SEEN, [])

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        seen = state.read(_SEEN)
        seen.append(node_info.name)
        return NO if seen.count(node_info.name) > 1 else None


@define(eq=False)
class VerdictsDisagree(OneOfAnApp):
    """The columns forget about namespaces."""

    @hookimpl
    def filter_rows(self, pod: Pod, rows: Rows) -> RowVerdicts | None:
        app = pod.labels.get("app")
        pods = (info.pods.values() for info in rows)
        found = [app is not None and any(p.labels.get("app") == app for p in there) for there in pods]
        return RowVerdicts.where(np.array(found, np.bool_), NO)


@define(eq=False)
class ReasonsDisagree(DiskByLabel):
    """The same verdict with other words."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        wanted = pod.labels.get("app") == "db"
        return (
            Status.unresolvable("wrong disk")
            if wanted and node_info.labels.get("disk") != self.args.disk
            else None
        )


@define(eq=False)
class CodesDisagree(DiskByLabel):
    """The same words with another code."""

    @hookimpl
    def filter(self, pod: Pod, node_info: NodeInfo) -> Status | None:
        wanted = pod.labels.get("app") == "db"
        return (
            Status.unschedulable("never")
            if wanted and node_info.labels.get("disk") != self.args.disk
            else None
        )


@define(eq=False)
class ScoresDisagree(DiskByLabel):
    """One form rounds the other way."""

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return self.args.worth - 1 if node_info.labels.get("disk") == self.args.disk else 0


@define(eq=False)
class RowsTakenForAll:
    """Looks at the first rows of the table instead of those it was given."""

    @hookimpl
    def filter(self, node_info: NodeInfo) -> Status | None:
        return NO if len(node_info.pods) > 1 else None

    @hookimpl
    def filter_rows(self, rows: Rows) -> RowVerdicts | None:
        return RowVerdicts.where(rows.table.pod_count[: len(rows)] > 1, NO)


@define(eq=False)
class LooksAtAllRows:
    """Says that other rows play no role, and compares with the fullest node."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self) -> Hashable:
        return ()

    @hookimpl
    def score_rows(self, rows: Rows) -> Scores:
        table = rows.table
        highest = int(table.pod_count[: table.size].max())
        return np.minimum(highest - rows.take(table.pod_count), 100)


_ROOM: Final = StateKey[dict[str, int]]("RemembersRoom")


@define(eq=False)
class RemembersRoom:
    """Says that other rows play no role, and looks at the pods as they were at pre_filter."""

    depends_on: ClassVar[Depends] = Depends.ROW

    @hookimpl
    def pod_signature(self) -> Hashable:
        return ()

    @hookimpl
    def pre_filter(self, state: CycleState, nodes: Rows) -> None:
        state.write(_ROOM, {info.name: len(info.pods) for info in nodes})

    @hookimpl
    def filter(self, state: CycleState, node_info: NodeInfo) -> Status | None:
        return NO if state.read(_ROOM).get(node_info.name, 0) > 1 else None


@define(eq=False)
class NotNodeOnly(OneOfAnApp):
    """Says that pods on a node play no role."""

    depends_on: ClassVar[Depends] = Depends.NODE_OBJECT


@define(eq=False)
class NotAmountsOnly(OneOfAnApp):
    """Says that labels of pods play no role."""

    depends_on: ClassVar[Depends] = Depends.ROW_RESOURCES


@define(eq=False)
class CountsPods:
    """Says that of the pods on a node only what they request plays a role, and whether there is room."""

    depends_on: ClassVar[Depends] = Depends.ROW_RESOURCES

    @hookimpl
    def pod_signature(self) -> Hashable:
        return ()

    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return min(len(node_info.pods), 100)


@define(eq=False)
class ReadsInSecret(TeamOfNamespace):
    """Reads namespaces and does not say so."""

    reads: ClassVar[tuple[str, ...]] = ()


@define(eq=False)
class SignatureForgetsLabels(OneOfAnApp):
    """Signs the namespace alone."""

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        return pod.namespace


@define(eq=False)
class SignatureForgetsAnnotations:
    """Scores by an annotation that is not signed."""

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        return tuple(pod.labels.items())

    @hookimpl
    def score(self, pod: Pod) -> int:
        return 50 if NOTE in pod.metadata.annotations else 0


@define(eq=False)
class SignatureOfTheMoment(OneOfAnApp):
    """Signs differently each time."""

    calls: int = 0

    @hookimpl
    def pod_signature(self, pod: Pod) -> Hashable:
        self.calls += 1
        return self.calls


@define(eq=False)
class SignatureCannotBeHashed(OneOfAnApp):
    @hookimpl
    def pod_signature(self, pod: Pod) -> Any:
        return [pod.labels.get("app")]


@define(eq=False)
class ScoreTooHigh:
    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return 60 * len(node_info.pods)


@define(eq=False)
class NormalisedBelowZero:
    @hookimpl
    def score(self, node_info: NodeInfo) -> int:
        return len(node_info.pods)

    @hookimpl
    def normalize_scores(self, scores: Scores) -> None:
        scores[:] = 50 - scores * 50


DECIDING: Final[tuple[tuple[Any, str], ...]] = (
    (ScoreThatCounts, "score_is_pure"),
    (ScoreOfFirstComeFirst, "score_is_pure"),
    (PodKeptInThePlugin, "filter_is_pure"),
    (RejectsWhatItSaw, "filter_is_pure"),
    (VerdictsDisagree, "filter_forms_agree"),
    (ReasonsDisagree, "filter_forms_agree"),
    (CodesDisagree, "filter_forms_agree"),
    (ScoresDisagree, "score_forms_agree"),
    (ScoresOfGroupsDisagree, "score_forms_agree"),
    (VerdictsOfGroupsDisagree, "filter_forms_agree"),
    (VerdictsOfPodsDisagree, "filter_forms_agree"),
    (RejectsOfPodsDisagree, "filter_forms_agree"),
    (TooFewVerdictsOfPods, "filter_forms_agree"),
    (ScoresOfPodsDisagree, "score_forms_agree"),
    (RowsTakenForAll, "filter_forms_agree"),
    (LooksAtAllRows, "depends_on_row_is_true"),
    (RemembersRoom, "depends_on_row_is_true"),
    (NotNodeOnly, "depends_on_node_object_is_true"),
    (NotAmountsOnly, "depends_on_row_resources_is_true"),
    (CountsPods, "depends_on_row_resources_is_true"),
    (ReadsInSecret, "depends_on_row_is_true"),
    (SignatureForgetsLabels, "pod_signature_is_true"),
    (SignatureForgetsAnnotations, "pod_signature_is_true"),
    (SignatureOfTheMoment, "pod_signature_is_true"),
    (SignatureCannotBeHashed, "answers_are_valid"),
    (ScoreTooHigh, "scores_are_in_range"),
    (NormalisedBelowZero, "scores_are_in_range"),
    (NamesTooFew, "pre_filter_nodes_are_true"),
    (SkipsTooMuch, "skip_is_true"),
    (FullCluster, "cache_changes_no_decision"),
    (NotKeptInStep, "add_and_remove_pod_are_inverse"),
    (ChangesWhatIsShared, "add_and_remove_pod_are_inverse"),
    (RemovesTwice, "add_and_remove_pod_are_inverse"),
    (NeedsTheTable, "add_and_remove_pod_are_inverse"),
)
"""Plugin, and the check that is to find its fault."""

ALSO: Final[dict[Any, set[str]]] = {
    ScoreThatCounts: {"instances_share_nothing"},
    RejectsWhatItSaw: {"add_and_remove_pod_are_inverse"},
    RowsTakenForAll: {"filter_is_pure"},
    RemembersRoom: {"add_and_remove_pod_are_inverse"},
}
"""Other checks that such a fault cannot but fail."""
