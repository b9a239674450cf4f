"""From a file, a text or Python values to plain JSON data, with the line of every field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from .errors import ConfigDecodeError, FieldError
from .yaml_text import Document, parse_yaml, too_deep


def read(source: object) -> Document:
    """Read YAML (the first document only) or JSON.

    A ``str`` is the text itself if it could be one (it has a line break, ``: `` or a brace, or is empty),
    else a file name. ConfigDecodeError for anything else, files that cannot be read, bad syntax and repeated
    keys.
    """
    if isinstance(source, Mapping):
        return Document(source)
    if isinstance(source, str) and (not source.strip() or any(mark in source for mark in ("\n", ": ", "{"))):
        return _parse(source, "")
    if not isinstance(source, str | PathLike):
        expected = "the text or file of a configuration, a dict, a KubeSchedulerConfiguration or a Profile"
        raise ConfigDecodeError([FieldError.wrong_type("", source, expected)])
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        problem = FieldError.invalid("", str(path), f"cannot be read: {error}")
        raise ConfigDecodeError([problem]) from error
    return _parse(text, str(path))


def _parse(text: str, name: str) -> Document:
    document = Document(None, name)
    problems: list[FieldError] = []
    if text.lstrip()[:1] == "{":
        try:
            document.data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except json.JSONDecodeError:
            parse_yaml(text, document, problems)  # a flow mapping, perhaps
        except RecursionError:
            raise too_deep(document) from None
        except ValueError as error:  # an integer with thousands of digits
            problems.append(FieldError.invalid("", name, str(error)))
        except _RepeatedKey as error:
            problems.append(FieldError.duplicate(error.key, error.key, "remove one of the two"))
    else:
        parse_yaml(text, document, problems)
    if problems:
        raise ConfigDecodeError(problems)
    return document


class _RepeatedKey(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return result


def _no_constant(text: str) -> None:
    raise ConfigDecodeError(
        [FieldError.invalid("", text, "there is no such number in JSON; write a finite one")]
    )
