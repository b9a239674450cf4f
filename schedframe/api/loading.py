"""Manifests from text, files and streams: YAML or JSON, several documents, lists."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, Literal

from attrs import frozen

from .._checked import checked_except
from .._validators import has
from ..errors import InputError, Problems
from .codec import describe
from .documents import Document, located, read_documents
from .manifest import Strict, UnknownKindError, from_manifest, label_of
from .metadata import ClusterObject
from .paths import Steps, steps_of

OnUnknown = Literal["error", "skip"] | Callable[[str, Mapping[str, Any]], None]
"""Treatment of unknown kinds: raise, skip, or a function of location and manifest."""

_SUFFIXES: Final = (".yaml", ".yml", ".json")


@frozen
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
    of one kind such as ``PodList``, counts as its items. A location is ``pods.yaml:17`` (line 17, where the
    object begins), with the document (from 1) if it is not the first and the item (from 0) of a list:
    ``pods.yaml:17: document 2, item 3``. *kinds* as for :func:`from_manifest`; *on_unknown*: treatment of all
    other kinds; *strict* as for :func:`from_manifest`, and also about keys that an object has twice.

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
                    for found in _Objects(document, name, number, options, problems.errors):
                        if not problems.errors:
                            yield found
    problems.raise_any()


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
        has("source", source, ["read"], "give a text, a pathlib.Path or an open file")
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


class _Objects:
    """The objects of one document. Problems are appended to ``problems``, and their objects left out."""

    __slots__ = ("_document", "_name", "_number", "_options", "problems")

    def __init__(
        self, document: Document, name: str, number: int, options: _Options, problems: list[InputError]
    ) -> None:
        self._document = document
        self._name = name
        self._number = number
        self._options = options
        self.problems = problems

    def __iter__(self) -> Iterator[tuple[str, ClusterObject]]:
        document = self._document.value
        if not isinstance(document, Mapping):
            # text without a name may have been meant as the name of a file
            fix = "write objects with apiVersion and kind"
            fix += "" if self._name else "; to read a file, pass a pathlib.Path"
            problem = f"expected an object, got {describe(document)}"
            self.problems.append(InputError("", problem, fix, location=self._location(())))
            return
        kind = document.get("kind")
        if kind == "List" and not isinstance(document.get("items"), list | None):
            problem = f"expected a list, got {describe(document['items'])}"
            error = InputError("items", problem, "write one object after each dash: - kind: Pod")
            self.problems.append(self._placed(error, (), ""))
            return
        is_list = (
            isinstance(kind, str) and kind.endswith("List") and isinstance(document.get("items"), list | None)
        )
        item_kind = str(kind).removesuffix("List") if is_list else ""
        self._report_duplicates(item_kind, is_list=is_list)
        if is_list:
            for index, item in enumerate(document.get("items") or ()):
                yield from self._object(item, ("items", index), item_kind)
        else:
            yield from self._object(document, (), "")

    def _report_duplicates(self, item_kind: str, *, is_list: bool) -> None:
        if self._options.strict is False:
            return
        for duplicate in self._document.duplicates:
            within_item = is_list and duplicate.steps[0] == "items" and len(duplicate.steps) > 2
            start = duplicate.steps[: 2 if within_item else 0]
            error = duplicate.error(len(start))
            label = item_kind if start else ""
            self._report(error.in_location(self._location(start, duplicate.line, label)))

    def _report(self, problem: InputError) -> None:
        """Pass *problem* to the function for it, or keep it."""
        strict = self._options.strict
        if callable(strict):
            strict(problem)
        else:
            self.problems.append(problem)

    def _object(self, item: Any, start: Steps, kind: str) -> Iterator[tuple[str, ClusterObject]]:
        options = self._options
        strict = options.strict
        if callable(strict):
            strict = partial(self._pass_on, strict, start, kind)
        try:
            made = from_manifest(
                item, kind=kind, kinds=options.kinds, strict=strict, required=options.required
            )
        except UnknownKindError as error:
            if options.on_unknown == "error":
                placed = self._placed(error, start, kind)
                self.problems.append(
                    UnknownKindError(placed.path, placed.problem, placed.fix, location=placed.location)
                )
            elif options.on_unknown != "skip":
                options.on_unknown(self._location(start), item)
            return
        except InputError as error:
            self.problems += [self._placed(each, start, kind) for each in error.errors]
            return
        yield self._location(start), made

    def _pass_on(self, to: Callable[[InputError], None], start: Steps, kind: str, error: InputError) -> None:
        to(self._placed(error, start, kind))

    def _placed(self, error: InputError, start: Steps, kind: str) -> InputError:
        """Return *error* about the object at *start* with the line of its field."""
        line = self._document.line_of((*start, *steps_of(error.path)))
        return error.in_location(self._location(start, line, kind))

    def _location(self, start: Steps, line: int = 0, kind: str = "") -> str:
        """Return the location of the object at *start*; *line* is that of a field of it."""
        place = located(self._name, line or self._document.line_of(start))
        parts = [f"document {self._number}"] if self._number > 1 else []
        parts += [f"item {start[1]}"] if start else []
        label = self._label(start, kind) if line else ""
        return ": ".join(filter(None, (place, ", ".join([*parts, label] if label else parts))))

    def _label(self, start: Steps, kind: str) -> str:
        value = self._document.value
        return label_of(value["items"][start[1]] if start else value, kind)
