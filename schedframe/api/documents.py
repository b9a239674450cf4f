"""YAML and JSON text as documents that know the line of each of their members.

The text is parsed once. Lines are looked up only for objects and for problems.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, Protocol

import yaml

from ..errors import InputError
from .json_text import JsonDocument, json_documents
from .nesting import is_too_deep
from .paths import Duplicate, Steps

_BaseLoader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document(Protocol):
    """One document of a text."""

    @property
    def value(self) -> Any:
        """Plain values; ``None`` for an empty document."""

    @property
    def duplicates(self) -> list[Duplicate]:
        """Keys that an object has more than once, in the order of the text."""

    def line_of(self, steps: Steps) -> int:
        """Return the line (from 1) of the member at *steps*, or of the innermost one around it."""


def read_documents(text: str, name: str) -> Iterator[Document]:
    """Return the documents of *text*.

    Text that starts like JSON is read as JSON, which is many times faster; if that fails, as YAML, unless its
    name ends in ``.json``. Raises :class:`InputError`; *name* is that of the file.
    """
    if text.lstrip()[:1] in ("{", "["):
        documents: list[JsonDocument] = []
        try:
            documents = json_documents(text)
        except json.JSONDecodeError as error:
            if name.endswith(".json"):
                where = located(name, error.lineno, error.colno)
                fix = "check commas, quotes and brackets"
                raise InputError("", f"cannot be read as JSON: {error.msg}", fix, location=where) from None
        except RecursionError:
            raise _too_deep(name) from None
        except ValueError as error:
            raise _unreadable_number(error, name) from None
        if documents:
            yield from documents
            return
    if is_too_deep(text):
        raise _too_deep(name)
    if (control := yaml.reader.Reader.NON_PRINTABLE.search(text)) is not None:
        raise _unprintable(control, text, name)
    try:
        yield from _yaml_documents(text)
    except _UnreadableScalarError as error:
        raise _unreadable_number(error, located(name, error.line)) from None
    except yaml.YAMLError as error:
        raise _unreadable(error, text, name) from None
    except ValueError as error:
        raise _unreadable_number(error, name) from None


def located(name: str, line: int, column: int = 0) -> str:
    """Return a place in a text as editors read it: ``pods.yaml:17``; without *name* ``line 17``."""
    if name:
        return f"{name}:{line}:{column}" if column else f"{name}:{line}"
    return f"line {line}, column {column}" if column else f"line {line}"


def _too_deep(name: str) -> InputError:
    return InputError("", "is nested too deeply", "check brackets and dashes", location=name)


def _unprintable(found: re.Match[str], text: str, name: str) -> InputError:
    """Return the error for a character that YAML does not allow."""
    line = text.count("\n", 0, found.start()) + 1
    problem = f"cannot be read as YAML: the character {found[0]!r} is not allowed"
    return InputError(
        "", problem, "remove it, or write it as an escape in quotes", location=located(name, line)
    )


class _UnreadableScalarError(ValueError):
    """A scalar that does not fit its tag, or what its notation means."""

    def __init__(self, problem: str, line: int) -> None:
        self.line = line
        super().__init__(problem)


def _unreadable_number(error: ValueError, location: str) -> InputError:
    """Return the error for a scalar such as an integer with thousands of digits, or ``!!int x``."""
    return InputError("", f"cannot be read: {error}", "correct it, or put it in quotes", location=location)


_YAML_FIXES: Final = {
    "constructor for the tag": "remove the tag; manifests have plain values only",
    "tab character": "indent with spaces",
    "cannot start any token": "indent with spaces, and put text with special characters in quotes",
    "',' or ']'": "close the bracket, or put text with special characters in quotes",
    "',' or '}'": "close the brace, or put text with special characters in quotes",
    "undefined alias": "put text that begins with * in quotes, or define the anchor",
}
"""Part of the problem that the parser reports → what to do."""


def _unreadable(error: yaml.YAMLError, text: str, name: str) -> InputError:
    mark = getattr(error, "problem_mark", None)
    where = located(name, mark.line + 1, mark.column + 1) if mark is not None else name
    problem = getattr(error, "problem", None) or str(error)
    rest = _rest_of_line(text, mark.line, mark.column) if mark is not None else ""
    if rest.startswith("\t"):
        problem = "a tab character where indentation or a value was expected"
    elif "undefined alias" in problem and rest.startswith("*"):
        problem += f" {rest.split(maxsplit=1)[0]}"
    fix = next((fix for mark, fix in _YAML_FIXES.items() if mark in problem), "check indentation and quotes")
    if "{{" in text:
        fix = "render the template first, as helm template does"
    return InputError("", f"cannot be read as YAML: {problem}", fix, location=where)


def _rest_of_line(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    return lines[line][column:] if line < len(lines) else ""


class _Loader(_BaseLoader):  # type: ignore[misc]  # the base is chosen at run time
    """Reads scalars as kubectl does: timestamps stay text, and 10:30 is not a number to the base of 60."""


_INTEGER: Final = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN)"
)
_REPLACED: Final = ("timestamp", "int", "float", "value")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] not in _REPLACED]
    for first, resolvers in _BaseLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(f"^(?:{_INTEGER.pattern})$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"^(?:{_FLOAT.pattern})$"), list("-+.0123456789")
)


def _add_reporting_constructor(tag: str) -> None:
    """Let the loader report the line of a scalar with *tag* that cannot be constructed."""
    construct = _BaseLoader.yaml_constructors[tag]

    def constructed(loader: Any, node: Any) -> Any:
        try:
            return construct(loader, node)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            wrong = f"{str(node.value)[:_LONGEST]!r} is not a YAML {tag.rpartition(':')[2]}"
            problem = str(error) if isinstance(error, ValueError) else wrong
            raise _UnreadableScalarError(problem, node.start_mark.line + 1) from error

    _Loader.add_constructor(tag, constructed)


_LONGEST: Final = 40
"""Characters of a scalar that an error repeats."""
for _scalar in ("int", "float", "bool", "timestamp", "binary"):
    _add_reporting_constructor(f"tag:yaml.org,2002:{_scalar}")


def _yaml_documents(text: str) -> Iterator[YamlDocument]:
    # the loader is a SafeLoader: it makes plain values only
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            duplicates = list(_duplicates(node, (), set()))  # before merge keys are resolved
            yield YamlDocument(loader.construct_document(node), node, duplicates)
    finally:
        loader.dispose()


class YamlDocument:
    """A document with the nodes that the parser made of it, which have their places."""

    __slots__ = ("_node", "duplicates", "value")

    def __init__(self, value: Any, node: yaml.Node, duplicates: list[Duplicate]) -> None:
        self.value = value
        self.duplicates = duplicates
        self._node = node

    def line_of(self, steps: Steps) -> int:
        """Return the line of the member at *steps*, or of the innermost one around it. O(members passed)."""
        node, mark = self._node, self._node.start_mark
        for step in steps:
            if isinstance(node, yaml.MappingNode):
                # the last one counts if a key is there twice
                pairs = [pair for pair in node.value if pair[0].value == step]
                if not pairs:
                    break
                mark, node = pairs[-1][0].start_mark, pairs[-1][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                mark = node.start_mark
            else:
                break
        return int(mark.line) + 1


def _duplicates(node: yaml.Node, steps: Steps, seen: set[int]) -> Iterator[Duplicate]:
    """Yield the keys that are there twice, each node once. O(size)."""
    if isinstance(node, yaml.ScalarNode) or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            if not isinstance(item, yaml.ScalarNode):
                yield from _duplicates(item, (*steps, index), seen)
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            line = key.start_mark.line + 1
            first = lines.get(key.value)
            if first is None:
                lines[key.value] = line
            elif not key.tag.endswith(":merge"):
                yield Duplicate((*steps, key.value), line, first)
        if not isinstance(value, yaml.ScalarNode):
            yield from _duplicates(value, (*steps, key.value), seen)
