"""JSON text: values at the speed of the parser in C, lines of members by walking over the text again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from ..errors import InputError
from .paths import LineOf, Mistake, Steps, located

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_skip: Final = json.JSONDecoder().raw_decode
_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")

Take = Callable[[str | int, int, int], int]
"""Function of a step and the positions of its key and value; returns the end of the value."""


def json_documents(text: str, name: str) -> list[tuple[Any, list[Mistake], LineOf]] | None:
    """Return data, mistakes and lines of the JSON values that follow one another.

    ``None`` for other text, which is YAML perhaps. Raises :class:`InputError` for what no YAML can be.
    """
    documents: list[tuple[Any, list[Mistake], LineOf]] = []
    position, line, counted = _after_space(text, 0), 1, 0
    try:
        while position < len(text):
            line += text.count("\n", counted, position)
            counted = position
            document = _Document(text, position, line)
            documents.append((document.value, document.mistakes, document.line_of))
            position = _after_space(text, document.end)
    except json.JSONDecodeError as error:
        if not name.endswith(".json"):
            return None
        where, fix = located(name, error.lineno, error.colno), "check commas, quotes and brackets"
        raise InputError("", f"cannot be read as JSON: {error.msg}", fix, location=where) from None
    except RecursionError:
        raise InputError("", "is nested too deeply", "check brackets", location=name) from None
    except ValueError as error:  # an integer of thousands of digits
        fix = "correct it, or put it in quotes"
        raise InputError("", f"cannot be read: {error}", fix, location=name) from None
    return documents


class _Document:
    """One value of a text. The items of a list are read one by one, so that their lines are known."""

    def __init__(self, text: str, start: int, line: int) -> None:
        self._text = text
        self._start = start
        self._first_line = line
        self._item_lines: list[int] = []
        self._is_wrong = False
        """Whether an object has a key twice, or a number is none of JSON, in the value that is read."""
        self._wrong: list[tuple[Steps, int]] = []
        """Steps and positions of such values."""
        self.mistakes: list[Mistake] = []
        decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_constant=self._constant)
        self._decode = decoder.raw_decode
        self.value: Any
        self.value, self.end = self._members() if text[start] == "{" else self._read((), start)
        del self._decode  # it refers to this object, and would keep the value until a garbage collection
        for steps, position in self._wrong:
            self._collect(steps, position)

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

    def _collect(self, steps: Steps, start: int) -> None:
        """Append the mistakes in the value at *start*."""
        seen: dict[str | int, int] = {}

        def take(step: str | int, key: int, value: int) -> int:
            if step in seen:
                lines = self._line(key), self._line(seen[step])
                self.mistakes.append(Mistake.repeated_key((*steps, step), *lines))
            seen[step] = key
            self._collect((*steps, step), value)
            return _skip(self._text, value)[1]

        if self._text[start] in "{[":
            _walk(self._text, start, take)
        elif self._text.startswith(_NOT_FINITE, start):
            value = _skip(self._text, start)[0]
            self.mistakes.append(Mistake.not_finite(steps, self._line(start), value))

    def _members(self) -> tuple[dict[str, Any], int]:
        """Return the object that the document is, and its end."""
        members: dict[str, Any] = {}
        is_repeated = False

        def take(step: str | int, _key: int, value: int) -> int:
            nonlocal is_repeated
            name = str(step)
            is_repeated = is_repeated or name in members
            is_items = name == "items" and self._text[value : value + 1] == "["
            members[name], end = self._items(value) if is_items else self._read((name,), value)
            return end

        end = _walk(self._text, self._start, take)
        if is_repeated:
            self._wrong = [((), self._start)]
        return members, end

    def _items(self, start: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        line, counted = self._line(start), start
        self._item_lines = []

        def take(step: str | int, _key: int, value: int) -> int:
            nonlocal line, counted
            line += self._text.count("\n", counted, value)
            counted = value
            self._item_lines.append(line)
            item, end = self._read(("items", step), value)
            items.append(item)
            return end

        end = _walk(self._text, start, take)
        return items, end

    def _read(self, steps: Steps, start: int) -> tuple[Any, int]:
        self._is_wrong = False
        value, end = self._decode(self._text, start)
        if self._is_wrong:
            self._wrong.append((steps, start))
        return value, end

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self._is_wrong = True
        return made

    def _constant(self, text: str) -> float:
        self._is_wrong = True
        return float(text)


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
