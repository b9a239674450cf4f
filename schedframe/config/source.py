"""From a file, a text or Python values to plain JSON data, with the line of every field."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from attrs import evolve

from ..api.documents import Document, decoded, first_document
from ..api.paths import Mistake, located
from ..errors import InputError
from .errors import ConfigDecodeError, FieldError


def read(source: object) -> Document:
    """Read YAML (the first document only) or JSON.

    A ``str`` is the text itself if it could be one (it has a line break, ``: `` or a brace, or is empty),
    else a file name. ConfigDecodeError for anything else, files that cannot be read, bad syntax and repeated
    keys.
    """
    if isinstance(source, Mapping):
        return Document(source)
    if isinstance(source, str) and (not source.strip() or any(mark in source for mark in ("\n", ": ", "{"))):
        return _read(source, "")
    if not isinstance(source, str | PathLike):
        expected = "the text or file of a configuration, a dict, a KubeSchedulerConfiguration or a Profile"
        raise ConfigDecodeError([FieldError.wrong_type("", source, expected)])
    path = Path(source)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        problem = FieldError.invalid("", str(path), f"cannot be read: {error}")
        raise ConfigDecodeError([problem]) from error
    return _read(data, str(path))


def _read(text: str | bytes, name: str) -> Document:
    try:
        document = first_document(text if isinstance(text, str) else decoded(text, name), name)
    except InputError as error:
        problem = FieldError.invalid("", name, f"{error.problem}; {error.fix}")
        raise ConfigDecodeError([evolve(problem, location=error.location)]) from None
    if document.mistakes:
        raise ConfigDecodeError(_field_error(each, name) for each in document.mistakes)
    return document


def _field_error(mistake: Mistake, name: str) -> FieldError:
    make = FieldError.duplicate if mistake.is_repeated_key else FieldError.invalid
    found = make(mistake.error().path, mistake.value, f"{mistake.problem}; {mistake.fix}")
    return evolve(found, location=located(name, mistake.line))
