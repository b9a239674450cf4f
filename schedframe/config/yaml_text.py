"""YAML as the reference reads it (YAML 1.1 with a few numbers of its own), to and from JSON data."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

from attrs import evolve, field

from .._base.value import record
from .._base.visible import visible_yaml
from ..api.nesting import is_too_deep
from .errors import ConfigDecodeError, FieldError

_BOOLEANS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII
)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

_PLAIN: Final = "!plain"
"""Tag of unquoted scalars without a tag: what they mean depends on how they look."""
_CORE: Final = "tag:yaml.org,2002:"
_MERGE: Final = "<<"


@record(eq=False)
class Document:
    """A document: ``data`` as JSON, ``name`` of the file, and the line at which each field starts."""

    data: Any
    name: str = ""
    lines: dict[str, int] = field(factory=dict)

    def locate(self, path: str) -> str:
        """Return ``file:line`` of a field or of the nearest one around it, else only the file."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.at_line(self.lines[path]) if path else self.name

    def at_line(self, line: int) -> str:
        """Return a line number in the form of messages."""
        return f"{self.name}:{line}" if self.name else f"line {line}"


def parse_yaml(text: str, document: Document, problems: list[FieldError]) -> None:
    """Read the first document of *text* into *document*. ConfigDecodeError if it is not YAML at all."""
    import yaml

    base: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    class Loader(base):  # type: ignore[misc]  # the base is chosen at run time: C where it was built
        def resolve(self, kind: type[Any], value: Any, implicit: Any) -> Any:
            if kind is yaml.ScalarNode and implicit[0]:
                return _PLAIN
            return super().resolve(kind, value, implicit)

    if is_too_deep(text):
        raise too_deep(document)
    try:
        loader = Loader(text)
        try:
            node = loader.get_node() if loader.check_node() else None
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = document.at_line(mark.line + 1) if mark else document.name
        what = getattr(error, "problem", None) or str(error)
        detail = f"not YAML: {what}{_template_hint(text)}"
        problem = evolve(FieldError.invalid("", document.name, detail), location=where)
        raise ConfigDecodeError([problem]) from error
    except UnicodeEncodeError as error:
        problem = FieldError.invalid("", document.name, f"not Unicode text: {error.reason}")
        raise ConfigDecodeError([problem]) from error
    if node is not None:
        try:
            document.data = _Converter(document, problems, _template_hint(text)).convert(node, "")
        except RecursionError:
            raise too_deep(document) from None


def _template_hint(text: str) -> str:
    return "; render the template first, as helm template does" if "{{" in text else ""


def second_document(text: str) -> int:
    """Return the line (from 1) at which a second document with some content begins; 0 if there is none."""
    import yaml

    started = 0
    line = 0
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.DocumentStartEvent):
                started, line = started + 1, (event.start_mark.line if event.start_mark else 0) + 1
            elif started > 1 and isinstance(event, yaml.NodeEvent):
                is_empty = isinstance(event, yaml.ScalarEvent) and not event.value
                if not is_empty:
                    return line
    except yaml.YAMLError:
        return line if started > 1 else 0
    return 0


def too_deep(document: Document) -> ConfigDecodeError:
    """Return the error for a text whose nesting ends the parser or the recursion limit."""
    problem = FieldError.invalid("", document.name, "nested too deeply; check brackets and dashes")
    return ConfigDecodeError([evolve(problem, location=document.name)])


def _meaning(text: str) -> Any:
    """Return the value of an unquoted word: null, a boolean, a number, or itself."""
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
    return math.nan if _NOT_FINITE.fullmatch(text) else text


def to_yaml(data: Any) -> str:
    """Return JSON data as YAML text with the same meaning here and in the reference."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def represent(dumper: Dumper, text: str) -> Any:
        # PyYAML does not quote every word that others take for a boolean or a number ("n", "1e3"), and writes
        # some line separators as they are, which then read as blanks.
        style = None if text.isprintable() and isinstance(_meaning(text), str) else '"'
        return dumper.represent_scalar(f"{_CORE}str", text, style=style)

    Dumper.add_representer(str, represent)
    text = yaml.dump(data, Dumper=Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True)
    return visible_yaml(text)


@record(eq=False)
class _Converter:
    """Converts YAML nodes to JSON data, with scalars as in the YAML library of the reference."""

    document: Document
    problems: list[FieldError]
    hint: str = ""
    """Appended to the problem of a key that is no text."""
    _open: set[int] = field(factory=set)
    _done: dict[int, Any] = field(factory=dict)

    def convert(self, node: Any, path: str) -> Any:
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        if node.id == "scalar":
            return self._scalar(node, path)
        if id(node) in self._done:  # an alias
            return self._done[id(node)]
        if id(node) in self._open:
            self._refuse(path, "", "an alias contains itself; write the value out")
            return None
        self._open.add(id(node))
        value: Any
        if node.id == "sequence":
            value = [self.convert(item, f"{path}[{index}]") for index, item in enumerate(node.value)]
        else:
            value = self._mapping(node, path)
        self._open.discard(id(node))
        self._done[id(node)] = value
        return value

    def _mapping(self, node: Any, path: str) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                self._refuse(path, "", f"a key is a list or an object; use plain words as keys{self.hint}")
                continue
            if key_node.tag == _PLAIN and key_node.value == _MERGE:
                for mapping in self._merged(value_node, path):
                    merged = {**mapping, **merged}
                continue
            key = self._key(key_node, path)
            child = f"{path}.{key}" if path else key
            if key in own:
                where = self.document.at_line(key_node.start_mark.line + 1)
                error = FieldError.duplicate(child, key, "the key is there already; remove one of the two")
                self.problems.append(evolve(error, location=where))
            self.document.lines.setdefault(child, key_node.start_mark.line + 1)
            own[key] = self.convert(value_node, child)
        return {**merged, **own}

    def _merged(self, node: Any, path: str) -> Iterator[dict[str, Any]]:
        value = self.convert(node, path)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield item
            else:
                self._refuse(path, item, "only objects can be merged with '<<'")

    def _key(self, node: Any, path: str) -> str:
        value = self._scalar(node, path)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "null" if value is None else str(value)

    def _scalar(self, node: Any, path: str) -> Any:
        text: str = node.value
        kind = node.tag.removeprefix(_CORE)
        if node.tag == _PLAIN:
            return self._plain(text, path)
        if kind in ("str", "!", "timestamp"):
            return text
        if kind in ("int", "float", "bool", "null"):
            value = self._plain(text, path)
            return float(value) if kind == "float" and isinstance(value, int) else value
        self._refuse(path, text, f"the tag {node.tag} is not supported; write plain JSON values")
        return text

    def _plain(self, text: str, path: str) -> Any:
        try:
            value = _meaning(text)
        except ValueError as error:  # int() takes 4,300 digits at most
            self._refuse(path, f"{text[:20]}…", str(error))
            return None
        if isinstance(value, float) and not math.isfinite(value):
            self._refuse(path, text, "there is no such number in JSON; write a finite one")
        return value

    def _refuse(self, path: str, value: object, detail: str) -> None:
        error = FieldError.invalid(path, value, detail)
        self.problems.append(evolve(error, location=self.document.locate(path)))
