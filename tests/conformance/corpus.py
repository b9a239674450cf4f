"""The measured cases on disk: gzipped files, one JSON object a line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from attrs import define, field

Case = dict[str, Any]

BUNDLED = Path(__file__).parent / "data"
SUFFIX = ".jsonl.gz"


class _Named(msgspec.Struct):
    name: str


@define(eq=False, slots=False)
class Corpus:
    """A directory with one ``<family>.jsonl.gz`` per family.

    Lines are kept as bytes: all families together are 40 MB of text but ten times that as objects, and each
    case is looked at once.
    """

    directory: Path = BUNDLED
    _lines: dict[str, list[bytes]] = field(factory=dict, init=False)

    @cached_property
    def families(self) -> frozenset[str]:
        """The families that have a file."""
        return frozenset(path.name.removesuffix(SUFFIX) for path in self.directory.glob(f"*{SUFFIX}"))

    def names(self, family: str) -> list[str]:
        """The names of the cases of *family* in the order of the file; looks at the whole file."""
        named = msgspec.json.Decoder(_Named)  # each worker lists all cases: ten times as fast as json
        return [named.decode(line).name for line in self._family(family)]

    def case(self, family: str, index: int) -> Case:
        """A fresh copy of the case on line *index*, counted from 0; the caller may change it."""
        case: Case = json.loads(self._family(family)[index])
        return case

    def cases(self, family: str) -> list[Case]:
        """All cases of *family*, parsed."""
        return [json.loads(line) for line in self._family(family)]

    def _family(self, family: str) -> list[bytes]:
        lines = self._lines.get(family)
        if lines is None:
            with gzip.open(self.directory / f"{family}{SUFFIX}", "rb") as file:
                lines = self._lines[family] = file.read().splitlines()
        return lines


def manifests_in(value: Any) -> Iterator[dict[str, Any]]:
    """The outermost manifests in *value*, such as a case."""
    if isinstance(value, dict):
        if "kind" in value and "apiVersion" in value and isinstance(value.get("metadata"), dict):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from manifests_in(entry)
