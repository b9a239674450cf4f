"""Manifests from text, files and streams: YAML or JSON, several documents, lists."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal

import yaml

from ..errors import InputError
from .codec import describe
from .manifest import UnknownKindError, from_manifest
from .metadata import ClusterObject
from .nesting import is_too_deep

OnUnknown = Literal["error", "skip"] | Callable[[str, Mapping[str, Any]], None]
"""Treatment of unknown kinds: raise, skip, or a function of location and manifest."""

Kinds = tuple[type[ClusterObject], ...]

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_BaseLoader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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


def load_manifests(
    source: str | bytes | os.PathLike[str] | IO[str] | IO[bytes],
    *,
    on_unknown: OnUnknown = "error",
    kinds: Iterable[type[ClusterObject]] = (),
) -> Iterator[tuple[str, ClusterObject]]:
    """Yield all objects of *source* in order, each with its location.

    *source* is text (YAML or JSON with any number of documents), a stream, or the path of a file or a folder,
    whose ``.yaml``, ``.yml`` and ``.json`` files are read in the order of their names. A ``List``, or a list
    of one kind such as ``PodList``, counts as its items. A location is ``pods.yaml:2[3]``: document 2 (from
    1), item 3 (from 0). *kinds* as for :func:`from_manifest`; *on_unknown*: treatment of all other kinds.

    Raises :class:`InputError` with location, path, value and fix.
    """
    kinds = tuple(kinds)
    for name, text in _texts(source):
        for number, document in enumerate(_documents(text, name), start=1):
            if document is not None:
                location = f"{name}:{number}" if name else str(number)
                yield from _objects(document, location, on_unknown, kinds)


def _texts(source: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file of *source*."""
    if isinstance(source, str | bytes):
        yield "", _decoded(source, "")
    elif isinstance(source, os.PathLike):
        path = Path(source)
        files = (
            sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES) if path.is_dir() else [path]
        )
        for file in files:
            yield str(file), _decoded(file.read_bytes(), str(file))
    else:
        name = str(getattr(source, "name", ""))
        yield name, _decoded(source.read(), name)


def _decoded(text: str | bytes, name: str) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            "", f"is not UTF-8: {error.reason} at byte {error.start}", "save it as UTF-8", location=name
        ) from None


def _documents(text: str, name: str) -> Iterator[Any]:
    """Return the documents of *text*.

    Text that starts like JSON is read as JSON, which is many times faster; if that fails, as YAML, unless its
    name ends in ``.json``.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            documents = _json_documents(text)
        except json.JSONDecodeError as error:
            if name.endswith(".json"):
                where, fix = f"line {error.lineno}, column {error.colno}", "check commas, quotes and brackets"
                raise InputError(where, f"cannot be read as JSON: {error.msg}", fix, location=name) from None
        except RecursionError:
            raise _too_deep(name) from None
        except ValueError as error:
            raise _unreadable_number(error, name) from None
        else:
            yield from documents
            return
    if is_too_deep(text):
        raise _too_deep(name)
    try:
        # the loader is a SafeLoader: it makes plain values only
        yield from yaml.load_all(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise _unreadable(error, name) from None
    except ValueError as error:
        raise _unreadable_number(error, name) from None


def _too_deep(name: str) -> InputError:
    return InputError("", "is nested too deeply", "check brackets and dashes", location=name)


def _unreadable_number(error: ValueError, name: str) -> InputError:
    """Return the error for a date that does not exist or an integer with thousands of digits."""
    return InputError("", f"cannot be read: {error}", "correct it, or put it in quotes", location=name)


def _json_documents(text: str) -> list[Any]:
    """Return JSON values that follow one another. Raises JSONDecodeError for other text."""
    decoder, documents, position = json.JSONDecoder(), [], 0
    while position < len(text):
        space = re.compile(r"\s*").match(text, position)
        position = space.end() if space else position
        if position == len(text):
            break
        document, position = decoder.raw_decode(text, position)
        documents.append(document)
    return documents


def _unreadable(error: yaml.YAMLError, name: str) -> InputError:
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
    problem = getattr(error, "problem", None) or str(error)
    return InputError(
        where, f"cannot be read as YAML: {problem}", "check indentation and quotes", location=name
    )


def _objects(
    document: Any, location: str, on_unknown: OnUnknown, kinds: Kinds
) -> Iterator[tuple[str, ClusterObject]]:
    if not isinstance(document, Mapping):
        fix = "write objects with apiVersion and kind; to read a file, pass a pathlib.Path"
        raise InputError("", f"expected an object, got {describe(document)}", fix, location=location)
    kind = document.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list | None):
        item_kind = kind.removesuffix("List")
        for index, item in enumerate(document.get("items") or ()):
            yield from _object(item, f"{location}[{index}]", item_kind, on_unknown, kinds)
    else:
        yield from _object(document, location, "", on_unknown, kinds)


def _object(
    item: Any, location: str, kind: str, on_unknown: OnUnknown, kinds: Kinds
) -> Iterator[tuple[str, ClusterObject]]:
    try:
        made = from_manifest(item, kind=kind, kinds=kinds)
    except UnknownKindError as error:
        if on_unknown == "error":
            raise UnknownKindError(error.path, error.problem, error.fix, location=location) from None
        if on_unknown != "skip":
            on_unknown(location, item)
        return
    except InputError as error:
        where = f"{location} ({error.location})" if error.location else location
        raise error.in_location(where) from None
    yield location, made
