"""Read the manifests of a command line: check, count skipped kinds, refuse duplicates, set defaults."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

from attrs import field

from ..._base.value import record
from ...api import ADMISSION_KINDS, CONTROLLER_KINDS, ClusterObject, Strict, load_manifests
from ...api.kinds import kind_label, near_version
from ...cluster.uids import uid_taken
from ...controllers import Workloads
from ...controllers.intake import Intake
from ...controllers.switches import ALL
from ...errors import InputError, Problems
from ...fork.bindings import GivenPlacements
from ...fork.decoding import skipped_note
from ..exits import reading
from ..options import STDIN
from ..output.terminal import Advance, caution


class Validate(StrEnum):
    """Values of ``--validate``: how manifests that Kubernetes would refuse are treated."""

    STRICT = "strict"
    WARN = "warn"
    IGNORE = "ignore"

    @property
    def strict(self) -> Strict:
        """The same for :func:`load_manifests`."""
        return warn if self is Validate.WARN else self is Validate.STRICT


def warn(problem: InputError) -> None:
    """Write one line on stderr."""
    caution(str(problem))


@record(frozen=True)
class SourceOptions:
    """Options of reading manifests."""

    workloads: Workloads = Workloads.AUTO
    validate: Validate = Validate.STRICT
    without: frozenset[str] = frozenset()
    """Parts of a cluster that are not played for them."""


@record(eq=False)
class Manifests:
    """Objects in the order given, as an API server would have stored them."""

    objects: list[ClusterObject] = field(factory=list)
    skipped: Counter[str] = field(factory=Counter)
    """Kinds that scheduling does not read, with the number of skipped objects."""

    placements: GivenPlacements = field(factory=GivenPlacements)
    """Bindings and earlier results among the manifests."""

    refused: list[str] = field(factory=list)
    """What a cluster would refuse of the objects, one line each."""
    done: list[str] = field(factory=list)
    """What was done with the objects, one line for each kind of change."""
    without: frozenset[str] = frozenset()
    """Parts of a cluster that are not played for them."""
    given: dict[tuple[str, str], ClusterObject] = field(factory=dict)
    """Kind and key → the object as it was given, of those that were completed."""

    def notes(self) -> list[str]:
        """Return the lines about what was done with objects, and about kinds that were passed over."""
        return [line for line in (*self.done, self.skipped_note()) if line]

    def skipped_note(self) -> str:
        """Return a line about skipped kinds; empty if there are none."""
        return skipped_note(self.skipped)


def read_manifests(
    files: Sequence[str],
    advance: Advance,
    options: SourceOptions = SourceOptions(),  # noqa: B008 - frozen
    live: Sequence[ClusterObject] = (),
) -> Manifests:
    """Return all objects of *files* (``-`` is standard input, a folder all its manifests); *advance* at each.

    Objects of *live*, a real cluster, are there too, unless a file has one of the same kind and name.
    What follows from the objects of the files is there, too: pods of workloads, for example.

    Raises :class:`InputError` with ``file:line: object: path`` for a file that cannot be read, a manifest
    that cannot be used, two objects of one kind and name or uid, and if there is no object at all;
    :class:`InputErrors` for several problems.
    """
    manifests, problems = Manifests(without=options.without), Problems()
    located: list[tuple[str, ClusterObject]] = []
    for file in files:
        with problems.collecting(), reading(file):
            for found in _objects(file, manifests, options.validate.strict):
                located.append(found)
                advance()
    _check_names(located, problems)
    _check_uids(located, live, problems)
    problems.raise_any()
    if not located and not manifests.skipped and not live:
        fix = "name files with manifests of nodes and pods"
        raise InputError("", "there are no objects in it", fix, location=", ".join(map(_shown, files)))
    replaced = {(obj.KIND, obj.key) for _, obj in located}
    beside = [obj for obj in live if (obj.KIND, obj.key) not in replaced]
    every = [*beside, *(obj for _, obj in located)]
    intake = Intake.among(every, options.workloads, options.without)
    manifests.objects = _as_they_are(beside)
    for location, obj in located:
        with problems.collecting():
            manifests.objects += _taken(intake, location, obj)
    problems.raise_any()
    manifests.objects = manifests.placements.applied(manifests.objects)
    manifests.done, manifests.refused = intake.notes(), intake.refusals
    manifests.given = intake.given
    manifests.skipped += intake.left_alone
    return manifests


def _as_they_are(live: Sequence[ClusterObject]) -> list[ClusterObject]:
    """Return the objects of a real cluster so that no pods are made of them: its controllers do that."""
    intake = Intake.among((), Workloads.IGNORE, ALL)
    return [each for obj in live for each in intake.take(obj)]


def standard_input() -> TextIO:
    """Return standard input. Raises :class:`InputError` if the caller has closed it."""
    if sys.stdin is None:
        fix = "redirect it from a file, or name a file"
        raise InputError("", "is closed", fix, location="<stdin>")
    return sys.stdin


def _shown(file: str) -> str:
    return "<stdin>" if file == STDIN else file


def _objects(file: str, manifests: Manifests, strict: Strict) -> Iterator[tuple[str, ClusterObject]]:
    def skip(location: str, manifest: Mapping[str, Any]) -> None:
        if manifests.placements.take(location, manifest):
            return
        manifests.skipped[kind_label(manifest)] += 1
        if (near := near_version(manifest)) is not None:
            warn(near.in_location(f"{location}: {near.location}"))

    source = standard_input() if file == STDIN else Path(file)
    kinds = (*CONTROLLER_KINDS, *ADMISSION_KINDS)
    yield from load_manifests(source, on_unknown=skip, kinds=kinds, strict=strict, required=True)


def _check_names(located: Iterable[tuple[str, ClusterObject]], problems: Problems) -> None:
    """Names must be unique within a kind; those that are still to be generated are."""
    first: dict[tuple[str, str], str] = {}
    for location, obj in located:
        if not obj.name:
            if not obj.metadata.generate_name:
                fix, problem = "give it one, or a generateName", f"a {obj.KIND} has no name"
                problems.errors.append(InputError("metadata.name", problem, fix, location=location))
            continue
        other = first.setdefault((obj.KIND, obj.key), location)
        if other is not location:
            problem = f"{obj.KIND} {obj.key} is there already, from {other}"
            fix = "rename or remove one of the two"
            problems.errors.append(InputError("metadata.name", problem, fix, location=location))


def _check_uids(
    located: Iterable[tuple[str, ClusterObject]], live: Iterable[ClusterObject], problems: Problems
) -> None:
    """Uids must be unique within a kind: the manifest of another object may have been copied with it."""
    owners = {(obj.KIND, obj.uid): (obj, "the cluster") for obj in live if obj.uid}
    for location, obj in located:
        if not obj.uid:
            continue
        other, place = owners.setdefault((obj.KIND, obj.uid), (obj, location))
        if other is not obj and (other.key != obj.key or not obj.name):
            problems.errors.append(
                uid_taken(obj, f"{obj.KIND} {other.key}, from {place}").in_location(location)
            )


def _taken(intake: Intake, location: str, obj: ClusterObject) -> list[ClusterObject]:
    try:
        return intake.take(obj)
    except InputError as error:
        raise error.in_location(f"{location}: {error.location or f'{obj.KIND} {obj.name}'}") from None
