"""Migration: a configuration of today, with a note on every choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from schedframe.config.model import GROUP_VERSION, KIND

from .names import PLUGINS, Successor


@frozen
class Note:
    """Fate of one field of the old configuration."""

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

    @classmethod
    def of(cls, kind: str, config: dict[str, Any], notes: Iterable[Note]) -> Migration:
        """Return a migration with a note on what only schedframe has, if *config* needs any of that."""
        own = sorted(_own_names(config))
        if own:
            text = f"the configuration works with schedframe only, because of {', '.join(own)}"
            return cls(kind, config, (*notes, Note("profiles", text)))
        return cls(kind, config, tuple(notes))

    @property
    def not_kept(self) -> tuple[Note, ...]:
        """The notes about what cannot be kept."""
        return tuple(note for note in self.notes if not note.kept)


def _own_names(config: Mapping[str, Any]) -> set[str]:
    """Return the enabled plugins and the fields of *config* that kube-scheduler does not have."""
    enabled = {
        each["name"]
        for profile in config.get("profiles", ())
        for lists in profile.get("plugins", {}).values()
        for each in lists.get("enabled", ())
    }
    own = enabled & PLUGINS.keys()
    if any("runAllFilters" in profile for profile in config.get("profiles", ())):
        own.add("runAllFilters")
    return own


def document(**fields: Any) -> dict[str, Any]:
    """Return a KubeSchedulerConfiguration with those of *fields* that are not empty."""
    set_fields = {name: value for name, value in fields.items() if value not in (None, {}, [])}
    return {"apiVersion": GROUP_VERSION, "kind": KIND, **set_fields}


def note_of(field: str, name: str, successor: Successor) -> Note:
    """Return the note about a name that *successor* replaces."""
    return Note(field, f"{name} → {successor}")
