"""JSON text: values at the speed of the parser in C, lines of members by walking over the text again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from .paths import Duplicate, Steps

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_skip: Final = json.JSONDecoder().raw_decode

Take = Callable[[str | int, int, int], int]
"""Function of a step and the positions of its key and value; returns the end of the value."""


class JsonDocument:
    """A document with the text that it was read from."""

    __slots__ = ("_first_line", "_item_lines", "_start", "_text", "duplicates", "value")

    def __init__(self, reader: _Reader, start: int, first_line: int) -> None:
        self.value = reader.value
        self.duplicates: list[Duplicate] = []
        self._text = reader.text
        self._start = start
        self._first_line = first_line
        self._item_lines = reader.item_lines
        for steps, position in reader.suspects:
            self._collect_duplicates(steps, position)

    def line_of(self, steps: Steps) -> int:
        """Return the line of the member at *steps*, or of the innermost one around it.

        O(1) for an item of a list of objects; O(length) otherwise.
        """
        if len(steps) == 2 and self._item_lines and steps[0] == "items":
            return self._item_lines[int(steps[1])]
        place = position = self._start
        for step in steps:
            at: list[tuple[int, int]] = []

            def take(found: str | int, key: int, value: int) -> int:
                if found == step:  # noqa: B023 - called before the next step
                    at.append((key, value))  # noqa: B023
                return _skip(self._text, value)[1]

            if self._text[position] in "{[":
                _walk(self._text, position, take)
            if not at:
                break
            place, position = at[-1]
        return self._line(place)

    def _line(self, position: int) -> int:
        return self._first_line + self._text.count("\n", self._start, position)

    def _collect_duplicates(self, steps: Steps, start: int) -> None:
        seen: dict[str | int, int] = {}

        def take(step: str | int, key: int, value: int) -> int:
            if step in seen:
                line, first = self._line(key), self._line(seen[step])
                self.duplicates.append(Duplicate((*steps, step), line, first))
            seen[step] = key
            if self._text[value] in "{[":
                self._collect_duplicates((*steps, step), value)
            return _skip(self._text, value)[1]

        if self._text[start] in "{[":
            _walk(self._text, start, take)


def json_documents(text: str) -> list[JsonDocument]:
    """Return JSON values that follow one another. Raises JSONDecodeError for other text."""
    documents, position, line, counted = [], _after_space(text, 0), 1, 0
    while position < len(text):
        line += text.count("\n", counted, position)
        counted = position
        reader = _Reader(text)
        end = reader.read(position, line)
        documents.append(JsonDocument(reader, position, line))
        position = _after_space(text, end)
    return documents


class _Reader:
    """Reads one document. The items of a list are read one by one, so that their lines are known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.value: Any = None
        self.item_lines: list[int] = []
        self.suspects: list[tuple[Steps, int]] = []
        """Steps and positions of values in which some object has a key twice."""
        self._has_duplicate = False
        self._decode = json.JSONDecoder(object_pairs_hook=self._object).raw_decode

    def read(self, start: int, line: int) -> int:
        """Read the document at *start*, in *line*, and return its end."""
        if self.text[start : start + 1] != "{":
            self.value, end = self._read((), start)
            return end
        members: dict[str, Any] = {}
        twice = False

        def take(step: str | int, _key: int, value: int) -> int:
            nonlocal twice
            name = str(step)
            twice = twice or name in members
            if name == "items" and self.text[value : value + 1] == "[":
                members[name], end = self._items(value, line + self.text.count("\n", start, value))
            else:
                members[name], end = self._read((name,), value)
            return end

        end = _walk(self.text, start, take)
        self.value = members
        if twice:
            self.suspects = [((), start)]
        return end

    def _items(self, start: int, line: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        counted = start
        self.item_lines = []

        def take(step: str | int, _key: int, value: int) -> int:
            nonlocal line, counted
            line += self.text.count("\n", counted, value)
            counted = value
            self.item_lines.append(line)
            item, end = self._read(("items", step), value)
            items.append(item)
            return end

        end = _walk(self.text, start, take)
        return items, end

    def _read(self, steps: Steps, start: int) -> tuple[Any, int]:
        self._has_duplicate = False
        value, end = self._decode(self.text, start)
        if self._has_duplicate:
            self.suspects.append((steps, start))
        return value, end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._has_duplicate = True
        return made


def _walk(text: str, start: int, take: Take) -> int:
    """Call *take* for each member of the object or list at *start*, and return the end of it.

    Raises JSONDecodeError.
    """
    is_object = text[start] == "{"
    close = "}" if is_object else "]"
    position = _after_space(text, start + 1)
    if text[position : position + 1] == close:
        return position + 1
    index = 0
    while True:
        key_at, step = position, index
        if is_object:
            key, position = _key(text, position)
            position = take(key, key_at, position)
        else:
            position = take(step, key_at, position)
        position = _after_space(text, position)
        end = text[position : position + 1]
        if end == close:
            return position + 1
        if end != ",":
            raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        position = _after_space(text, position + 1)
        index += 1


def _key(text: str, position: int) -> tuple[str, int]:
    """Return the key at *position* and the position of its value."""
    if text[position : position + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, position)
    key, position = _skip(text, position)
    position = _after_space(text, position)
    if text[position : position + 1] != ":":
        raise json.JSONDecodeError("Expecting ':' delimiter", text, position)
    return key, _after_space(text, position + 1)


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position
