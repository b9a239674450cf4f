"""Object templates: manifest files with actions of Go templates, from which objects are made one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from ..._base.value import record
from ...api import ClusterObject, from_manifest
from ...api.kinds import UnknownKindError
from ...errors import InputError
from .definitions import read_text, read_yaml
from .gotemplate import has_actions, render

Manifest = dict[str, Any]
Change = Callable[[Manifest], None]

_FREE_KEYS: Final = frozenset(
    ("labels", "annotations", "matchLabels", "nodeSelector", "capacity", "allocatable", "requests", "limits")
)
"""Members whose keys are data instead of names of fields."""


@record(eq=False)
class ObjectTemplate:
    """An object template. It is parsed once if it has no actions, else once per object."""

    file: Path
    _text: str = ""
    _parsed: Any = None

    @classmethod
    def read(cls, file: Path) -> ObjectTemplate:
        """Return the template in *file*. Raises :class:`InputError`."""
        template = cls(file, read_text(file))
        if not has_actions(template._text):
            template._parsed = template._parse(template._text)
        return template

    @classmethod
    def of(cls, manifest: Manifest) -> ObjectTemplate:
        """Return a template for a manifest that is in no file."""
        return cls(Path(), parsed=manifest)

    def manifest(self, index: int, count: int) -> Manifest:
        """Return the *index*-th manifest of *count*; ``metadata``, ``spec`` and ``status`` are its own."""
        data = self._parsed
        if data is None:
            try:
                data = self._parse(render(self._text, {"Index": index, "Count": count}))
            except InputError as error:
                raise error.in_location(str(self.file)) from error
        own = dict(data)
        for name in ("metadata", "spec", "status"):
            own[name] = dict(own.get(name) or {})
        return own

    def make(self, index: int, count: int, change: Change = lambda manifest: None) -> ClusterObject:
        """Return the *index*-th object of *count*. Raises :class:`InputError` with the name of the file."""
        manifest = self.manifest(index, count)
        change(manifest)
        try:
            # as loosely as scheduler_perf reads it, with the empty parts that were filled in
            return from_manifest(manifest, strict=False)
        except UnknownKindError:
            raise
        except InputError as error:
            raise error.in_location(str(self.file)) from error

    def _parse(self, text: str) -> Any:
        data = read_yaml(self.file, text)
        if not isinstance(data, Mapping):
            raise InputError("", "expected one object", "write a manifest", location=str(self.file))
        return _with_field_names(data)


def _with_field_names(data: Any) -> Any:
    """Return *data* with field names in lower camel case; Go's decoder accepts ``NodeTaintsPolicy``."""
    if isinstance(data, list):
        return [_with_field_names(each) for each in data]
    if not isinstance(data, Mapping):
        return data
    return {
        key[:1].lower() + key[1:]: value if key in _FREE_KEYS else _with_field_names(value)
        for key, value in data.items()
    }


def into_namespace(namespace: str | None) -> Change:
    """Return the change that puts an object into *namespace*; ``None`` leaves it where it is."""

    def change(manifest: Manifest) -> None:
        if namespace:
            manifest["metadata"]["namespace"] = namespace

    return change
