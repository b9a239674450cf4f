"""The reader of YAML and JSON text, for manifests and configurations alike.

A text is parsed once. Lines of members are looked up when a message needs them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import InputError
from .json_reader import json_documents
from .paths import LineOf, Mistake, Steps, located, steps_of
from .yaml_reader import yaml_documents


def _no_line(_: Steps) -> int:
    return 0


class Document:
    """One document of a text, or data that were made otherwise, which have no lines."""

    __slots__ = ("line_of", "mistakes", "name", "value")

    def __init__(
        self, value: Any, name: str = "", mistakes: Sequence[Mistake] = (), line_of: LineOf = _no_line
    ) -> None:
        self.value = value
        """JSON data; ``None`` for an empty document."""
        self.name = name
        """The file."""
        self.mistakes = mistakes
        """In the order of the text."""
        self.line_of = line_of
        """Returns 0 without lines."""

    def locate(self, path: str) -> str:
        """Return ``file:line`` of a field or of the nearest one around it, else only the file."""
        steps = steps_of(path)
        # Without a document, or for a field that a default has added, there is no line to name.
        line = self.line_of(steps) if steps and self.value and steps[0] in self.value else 0
        return located(self.name, line) if line else self.name


def read_documents(text: str, name: str) -> Iterator[Document]:
    """Return the documents of *text*, which is that of the file *name*.

    Text that starts like JSON is read as JSON, which is many times faster; if that fails, as YAML, unless its
    name ends in ``.json``. Raises :class:`InputError` for text that is neither.
    """
    text = text.removeprefix("\ufeff")
    read = json_documents(text, name) if text.lstrip()[:1] in ("{", "[") else None
    for value, mistakes, line_of in yaml_documents(text, name) if read is None else read:
        yield Document(value, name, mistakes, line_of)


def first_document(text: str, name: str) -> Document:
    """Return the first document of *text*, empty without one. Raises :class:`InputError`."""
    return next(read_documents(text, name), None) or Document(None, name)


def decoded(text: bytes, name: str) -> str:
    """Return the text of a file. Raises :class:`InputError` if it is not UTF-8."""
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8: {error.reason} at byte {error.start}"
        raise InputError("", problem, "save it as UTF-8", location=name) from None
