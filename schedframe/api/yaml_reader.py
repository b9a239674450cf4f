"""YAML text as JSON data, with scalars and keys as in the YAML library of Kubernetes (sigs.k8s.io/yaml).

PyYAML composes the nodes, and is imported for the first text. Only a mistake makes anything of their places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache, partial
from types import NoneType
from typing import Any, Final

from .._base.brief import shown
from ..errors import InputError
from .paths import LineOf, Mistake, Steps, located

MAX_DEPTH: Final = 5000
"""Levels of nesting that PyYAML may see; with libyaml 0.2.5 it ends the process from some 20,000 on."""

_MARKS: Final = re.compile(rf"(?:[-?] +){{{MAX_DEPTH}}}")
_BRACKET: Final = re.compile(r"[\[\]{}]")

_BOOLEANS: Final = {
    **dict.fromkeys(("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
"""The library takes y and n for booleans, too, and kubectl then refuses them as names; here they are text."""
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d?-\d\d?([Tt ]+\d.*)?", re.ASCII)

_PLAIN: Final = "!plain"
"""Tag of unquoted scalars without a tag: what they mean depends on how they look."""
_CORE: Final = "tag:yaml.org,2002:"
_TEXT, _LIST, _OBJECT = f"{_CORE}str", f"{_CORE}seq", f"{_CORE}map"
_TAGGED: Final = {"int": int, "float": float, "bool": bool, "null": NoneType}
_MERGE: Final = "<<"
_TEMPLATE: Final = "render the template first, as helm template does"
_FIXES: Final = {
    "nesting depth": "check brackets and dashes",
    "tab character": "indent with spaces",
    "cannot start any token": "indent with spaces, and put text with special characters in quotes",
    "',' or ']'": "close the bracket, or put text with special characters in quotes",
    "',' or '}'": "close the brace, or put text with special characters in quotes",
    "undefined alias": "put text that begins with * in quotes, or define the anchor",
}
"""Part of the problem that the parser reports → what to do."""


def yaml_documents(text: str, name: str) -> Iterator[tuple[Any, list[Mistake], LineOf]]:
    """Yield data, mistakes and lines of each document. Raises :class:`InputError` if *text* is no YAML."""
    import yaml

    if _is_too_deep(text):
        raise too_deep(name)
    if (control := yaml.reader.Reader.NON_PRINTABLE.search(text)) is not None:
        raise _unprintable(control, text, name)
    loader = _loader()(text)
    try:
        while loader.check_node():
            root = loader.get_node()
            reading = _Reading(_TEMPLATE if "{{" in text else "")
            yield reading.value_of(root), reading.mistakes, partial(_line_of, root)
    except yaml.YAMLError as error:
        raise _unreadable(error, text, name) from None
    except RecursionError:
        raise too_deep(name) from None
    finally:
        loader.dispose()


@cache
def _loader() -> Any:
    """Return the class that composes nodes: in C where PyYAML was built with it."""
    import yaml

    base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    collections = {yaml.SequenceNode: _LIST, yaml.MappingNode: _OBJECT}

    class Loader(base):  # type: ignore[misc]  # the base is chosen at run time
        def resolve(self, kind: type[Any], _: Any, implicit: Any) -> str:
            return collections.get(kind) or (_PLAIN if implicit[0] else _TEXT)

    return Loader


def _is_too_deep(text: str) -> bool:
    """Return whether *text* may be nested deeper than :data:`MAX_DEPTH`. O(length).

    Nesting by indentation is not looked at: that deep it would take a text of 100 MB.
    """
    if text.count("[") + text.count("{") > MAX_DEPTH:
        depth = 0
        for bracket in _BRACKET.findall(text):
            depth = depth + 1 if bracket in "[{" else max(0, depth - 1)
            if depth > MAX_DEPTH:
                return True
    return _MARKS.search(text) is not None


def too_deep(name: str) -> InputError:
    """Return the error for a text whose nesting ends a parser or the recursion limit."""
    return InputError("", "is nested too deeply", "check brackets and dashes", location=name)


def _unprintable(found: re.Match[str], text: str, name: str) -> InputError:
    """Return the error for a character that YAML does not allow."""
    where = located(name, text.count("\n", 0, found.start()) + 1)
    problem = f"cannot be read as YAML: the character {found[0]!r} is not allowed"
    return InputError("", problem, "remove it, or write it as an escape in quotes", location=where)


def _unreadable(error: Any, text: str, name: str) -> InputError:
    """Return the error for what PyYAML could not read."""
    mark = getattr(error, "problem_mark", None)
    where = located(name, mark.line + 1, mark.column + 1) if mark is not None else name
    problem = getattr(error, "problem", None) or str(error)
    rest = _rest_of_line(text, mark.line, mark.column) if mark is not None else ""
    if rest.startswith("\t"):
        problem = "a tab character where indentation or a value was expected"
    elif "undefined alias" in problem and rest.startswith("*"):
        problem += f" {rest.split(maxsplit=1)[0]}"
    fix = next((fix for part, fix in _FIXES.items() if part in problem), "check indentation and quotes")
    fix = _TEMPLATE if "{{" in text else fix
    return InputError("", f"cannot be read as YAML: {problem}", fix, location=where)


def _rest_of_line(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    return lines[line][column:] if line < len(lines) else ""


def meaning(text: str) -> Any:
    """Return the value of an unquoted word: null, a boolean, a number, or itself.

    Raises ValueError for a number of thousands of digits.
    """
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "")
    if match := _INTEGER.fullmatch(plain):
        sign, *digits = match.groups()
        value = next(int(d, base) for d, base in zip(digits, (16, 2, 8, 10), strict=True) if d is not None)
        return -value if sign == "-" else value
    if _FLOAT.fullmatch(plain):
        return float(plain)
    return float(text.replace(".", "")) if _NOT_FINITE.fullmatch(text) else text


class _Reading:
    """Makes the data of one document, each list and object once, however many aliases it has."""

    __slots__ = ("_done", "_steps", "_template", "mistakes")

    def __init__(self, template: str) -> None:
        self.mistakes: list[Mistake] = []
        self._template = template
        """What to do with a text that seems to be a template, else empty."""
        self._done: dict[int, Any] = {}
        """By the id of a node: its data, ``...`` while they are made."""
        self._steps: list[str | int] = []
        """To the node that is read."""

    def value_of(self, node: Any) -> Any:
        """Return the data of *node*."""
        if node.id == "scalar":
            return self._scalar(node)
        value = self._done.get(id(node))
        if value is None:
            self._done[id(node)] = ...
            if node.tag not in (_LIST, _OBJECT):
                self._refuse_tag(node)
            self._steps.append("")
            value = self._items(node) if node.id == "sequence" else self._members(node)
            self._steps.pop()
            self._done[id(node)] = value
        elif value is ...:
            self._refuse(node, "an alias contains itself", "write the value out")
            return None
        return value

    def _items(self, node: Any) -> list[Any]:
        items, steps = [], self._steps
        for index, item in enumerate(node.value):
            steps[-1] = index
            items.append(self.value_of(item))
        return items

    def _members(self, node: Any) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        steps = self._steps
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key is None or _is_merge(key_node):
                steps.pop()
                merged = {**self._merged(key, key_node, value_node), **merged}
                steps.append("")
                continue
            steps[-1] = key
            if key in own:
                first = next(each for each, _ in node.value if _key(each) == key)
                found = Mistake.repeated_key(tuple(steps), _line(key_node), _line(first))
                self.mistakes.append(found)
            own[key] = self.value_of(value_node)
        return {**merged, **own} if merged else own

    def _merged(self, key: str | None, key_node: Any, node: Any) -> dict[str, Any]:
        """Return what the merge key brings; nothing for a key that is no text."""
        if key is None:
            fix = self._template or "use plain words as keys"
            self._refuse(key_node, "a key is a list or an object", fix)
            return {}
        value = self.value_of(node)
        merged: dict[str, Any] = {}
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                merged = {**item, **merged}
            else:
                problem = "only objects can be merged with '<<'"
                self._refuse(key_node, problem, "merge the anchor of one", item)
        return merged

    def _scalar(self, node: Any) -> Any:
        text, tag = node.value, node.tag
        if tag == _TEXT:
            return text
        try:
            value = meaning(text) if tag == _PLAIN else self._tagged(node)
        except ValueError as error:
            self._refuse(node, f"cannot be read: {error}", "correct it, or put it in quotes", text)
            return None
        if value.__class__ is float and not math.isfinite(value):
            self.mistakes.append(Mistake.not_finite(tuple(self._steps), _line(node), text))
        return value

    def _tagged(self, node: Any) -> Any:
        """Return the value of a scalar with a tag. Raises ValueError if it is none of that kind."""
        kind, text = node.tag.removeprefix(_CORE), node.value
        if kind == "timestamp" and _TIMESTAMP.fullmatch(text):
            return text
        if kind not in (*_TAGGED, "timestamp"):
            self._refuse_tag(node)
            return text
        value = meaning(text)
        if kind == "float" and value.__class__ is int:
            return float(value)
        if value.__class__ is not _TAGGED.get(kind):
            raise ValueError(f"{shown(text)} is not a YAML {kind}")
        return value

    def _refuse_tag(self, node: Any) -> None:
        tag = node.tag.replace(_CORE, "!!", 1)
        self._refuse(
            node, f"the tag {tag} is not supported", "remove the tag; only plain values are read", tag
        )

    def _refuse(self, node: Any, problem: str, fix: str, value: object = None) -> None:
        self.mistakes.append(Mistake(tuple(self._steps), _line(node), problem, fix, value))


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _is_merge(key: Any) -> bool:
    return bool(key.value == _MERGE and key.tag == _PLAIN)


def _key(node: Any) -> str | None:
    """Return the text that a key becomes in JSON; ``None`` for a list or an object."""
    text: str = node.value
    if node.tag != _PLAIN:
        return text if node.id == "scalar" else None
    try:
        value = meaning(text)
    except ValueError:  # thousands of digits
        return text
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line_of(root: Any, steps: Steps) -> int:
    """Return the line of the member at *steps*, or of the innermost one around it. O(members passed)."""
    place, node = root, root
    for step in steps:
        found = _member(node, step)
        if found is None:
            break
        place, node = found
    return _line(place)


def _member(node: Any, step: str | int) -> tuple[Any, Any] | None:
    """Return key and value of a member of *node*, or an item twice; ``None`` if there is none."""
    if node.id == "sequence" and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    if node.id != "mapping":
        return None
    merged: list[Any] = []
    for key, value in reversed(node.value):  # the last one counts if a key is there twice
        if _is_merge(key):
            merged += value.value if value.id == "sequence" else [value]
        elif _key(key) == step:
            return key, value
    return next((found for each in merged if (found := _member(each, step)) is not None), None)
