"""Migration: a configuration of today, with a note on every choice."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from ..model import GROUP_VERSION, KIND
from .names import Successor


@frozen
class Note:
    """What became of one field of the old configuration."""

    field: str
    text: str
    kept: bool = True
    """``False``: the new configuration does not decide the same here."""

    def __str__(self) -> str:
        return f"{'' if self.kept else 'NOT KEPT: '}{self.field}: {self.text}"


@frozen
class Migration:
    """The result of migrating one document."""

    kind: str
    """What was migrated, such as ``Policy v1``."""
    config: dict[str, Any]
    """A KubeSchedulerConfiguration as JSON data."""
    notes: tuple[Note, ...] = ()

    @property
    def not_kept(self) -> tuple[Note, ...]:
        """The notes about what cannot be kept."""
        return tuple(note for note in self.notes if not note.kept)


def document(**fields: Any) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration with those of *fields* that are not empty."""
    set_fields = {name: value for name, value in fields.items() if value not in (None, {}, [])}
    return {"apiVersion": GROUP_VERSION, "kind": KIND, **set_fields}


def note_of(field: str, name: str, successor: Successor) -> Note:
    """Return the note about a name that *successor* replaces."""
    return Note(field, f"{name} → {successor}")
