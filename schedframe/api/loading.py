"""Manifests from text, files and streams: YAML or JSON, several documents, lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Literal

from .._base.checked import checked_except
from .._base.validators import has
from .._base.value import record
from ..errors import InputError, Problems
from .documents import Document, decoded, read_documents
from .kinds import Strict, UnknownKindError, label_of
from .manifest import from_manifest
from .metadata import ClusterObject
from .paths import Steps, located, steps_of
from .valuecodecs import describe

OnUnknown = Literal["error", "skip"] | Callable[[str, Mapping[str, Any]], None]
"""Treatment of unknown kinds: raise, skip, or a function of location and manifest."""

_SUFFIXES: Final = (".yaml", ".yml", ".json")


@record(frozen=True)
class _Options:
    on_unknown: OnUnknown
    kinds: tuple[type[ClusterObject], ...]
    strict: Strict
    required: bool


@checked_except("source")
def load_manifests(
    source: str | bytes | os.PathLike[str] | IO[str] | IO[bytes],
    *,
    on_unknown: OnUnknown = "error",
    kinds: Iterable[type[ClusterObject]] = (),
    strict: Strict = True,
    required: bool = False,
) -> Iterator[tuple[str, ClusterObject]]:
    """Yield all objects of *source* in order, each with its location, while it is read.

    *source* is text (YAML or JSON with any number of documents), a stream, or the path of a file or a folder,
    whose ``.yaml``, ``.yml`` and ``.json`` files are read in the order of their names. A ``List``, or a list
    of one kind such as ``PodList``, counts as its items, at any depth. A location is ``pods.yaml:17`` (line
    17, where the object begins), with the document (from 1) if it is not the first and the item (from 0) of a
    list: ``pods.yaml:17: document 2, item 3``. *kinds* as for :func:`from_manifest`; *on_unknown*: treatment
    of all other kinds; *strict* as for :func:`from_manifest`, and also about keys that an object has twice.

    Raises :class:`InputError` with location (the line of the field), path, value and fix, and
    :class:`InputErrors` with all problems if there are several. After the first problem no object is yielded,
    and the rest is only checked; make a list of the result to use all objects or none.
    """
    options = _Options(on_unknown, tuple(kinds), strict, required)
    problems = Problems()
    for name, text in _texts(source):
        with problems.collecting():
            for number, document in enumerate(read_documents(text, name), start=1):
                if document.value is not None:
                    for found in _Objects(document, number, options, problems.errors):
                        if not problems.errors:
                            yield found
    problems.raise_any()


def _texts(source: Any) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file of *source*."""
    if isinstance(source, str | bytes):
        yield "", _text(source, "")
    elif isinstance(source, os.PathLike):
        path = Path(source)
        files = (
            sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES) if path.is_dir() else [path]
        )
        for file in files:
            yield str(file), decoded(file.read_bytes(), str(file))
    else:
        has("source", source, ["read"], "give a text, a pathlib.Path or an open file")
        name = str(getattr(source, "name", ""))
        yield name, _text(source.read(), name)


def _text(source: str | bytes, name: str) -> str:
    return source if isinstance(source, str) else decoded(source, name)


class _Objects:
    """The objects of one document. Problems are appended to ``problems``, and their objects left out."""

    __slots__ = ("_document", "_number", "_options", "problems")

    def __init__(
        self, document: Document, number: int, options: _Options, problems: list[InputError]
    ) -> None:
        self._document = document
        self._number = number
        self._options = options
        self.problems = problems

    def __iter__(self) -> Iterator[tuple[str, ClusterObject]]:
        document = self._document.value
        if not isinstance(document, Mapping):
            # text without a name may have been meant as the name of a file
            fix = "write objects with apiVersion and kind"
            fix += "" if self._document.name else "; to read a file, pass a pathlib.Path"
            problem = f"expected an object, got {describe(document)}"
            self.problems.append(InputError("", problem, fix, location=self._location(())))
            return
        if self._report_mistakes():
            yield from self._in(document, ())

    def _in(self, value: Any, start: Steps) -> Iterator[tuple[str, ClusterObject]]:
        """Yield the objects of the value at *start*: itself, or those of the list that it is."""
        if not _is_list(value):
            yield from self._object(value, start)
            return
        items = value.get("items")
        if not isinstance(items, list | None):
            problem = f"expected a list, got {describe(items)}"
            error = InputError("items", problem, "write one object after each dash: - kind: Pod")
            self.problems.append(self._placed(error, start))
            return
        for index in range(len(items or ())):
            yield from self._in(_item(value, index), (*start, "items", index))

    def _report_mistakes(self) -> bool:
        """Report the mistakes of the text; return whether its values can be used all the same."""
        is_usable, strict = True, self._options.strict
        for mistake in self._document.mistakes:
            if mistake.is_repeated_key and strict is False:
                continue
            start = self._start_of(mistake.steps)
            error = mistake.error(len(start), self._location(start, mistake.line))
            if mistake.is_repeated_key and callable(strict):
                strict(error)
            else:
                self.problems.append(error)
            is_usable = is_usable and mistake.is_repeated_key
        return is_usable

    def _start_of(self, steps: Steps) -> Steps:
        """Return the steps to the object that has the member at *steps*."""
        start: Steps = ()
        value = self._document.value
        while (
            _is_list(value)
            and steps[len(start) : len(start) + 1] == ("items",)
            and len(steps) > len(start) + 2
        ):
            start = steps[: len(start) + 2]
            value = value["items"][start[-1]]
        return start

    def _object(self, item: Any, start: Steps) -> Iterator[tuple[str, ClusterObject]]:
        options = self._options
        strict = options.strict
        if callable(strict):
            strict = partial(self._pass_on, strict, start)
        try:
            made = from_manifest(item, kinds=options.kinds, strict=strict, required=options.required)
        except UnknownKindError as error:
            if options.on_unknown == "error":
                placed = self._placed(error, start)
                self.problems.append(
                    UnknownKindError(placed.path, placed.problem, placed.fix, location=placed.location)
                )
            elif options.on_unknown != "skip":
                options.on_unknown(self._location(start), item)
            return
        except InputError as error:
            self.problems += [self._placed(each, start) for each in error.errors]
            return
        yield self._location(start), made

    def _pass_on(self, to: Callable[[InputError], None], start: Steps, error: InputError) -> None:
        to(self._placed(error, start))

    def _placed(self, error: InputError, start: Steps) -> InputError:
        """Return *error* about the object at *start* with the line of its field."""
        line = self._document.line_of((*start, *steps_of(error.path)))
        return error.in_location(self._location(start, line))

    def _location(self, start: Steps, line: int = 0) -> str:
        """Return the location of the object at *start*; *line* is that of a field of it."""
        place = located(self._document.name, line or self._document.line_of(start))
        parts = [f"document {self._number}"] if self._number > 1 else []
        parts += [f"item {index}" for index in start[1::2]]
        label = self._label(start) if line else ""
        return ": ".join(filter(None, (place, ", ".join([*parts, label] if label else parts))))

    def _label(self, start: Steps) -> str:
        value = self._document.value
        for index in start[1::2]:
            value = _item(value, index)
        return label_of(value)


def _is_list(value: Any) -> bool:
    """Return whether *value* is a ``List``, or a list of one kind."""
    kind = value.get("kind") if isinstance(value, Mapping) else None
    if not isinstance(kind, str) or not kind.endswith("List"):
        return False
    return kind == "List" or isinstance(value.get("items"), list | None)


def _item(value: Mapping[str, Any], index: Any) -> Any:
    """Return an item of a list. Those of a list of one kind have its kind and version if they have none."""
    item, kind = value["items"][index], value["kind"].removesuffix("List")
    if not kind or not isinstance(item, Mapping) or item.get("kind"):
        return item
    version = value.get("apiVersion")
    return {**({} if version is None else {"apiVersion": version}), **item, "kind": kind}


def flattened(manifest: Any) -> Iterator[Any]:
    """Yield the manifests of a list of manifests, at any depth; *manifest* itself if it is no list."""
    items = manifest.get("items") if _is_list(manifest) else ()
    if not _is_list(manifest) or not isinstance(items, list | None):
        yield manifest
        return
    for index in range(len(items or ())):
        yield from flattened(_item(manifest, index))
