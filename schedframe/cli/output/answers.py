"""An answer about a whole cluster on stdout: as a table, as JSON or YAML."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..._base.visible import visible_json
from ...api.yaml_writer import to_yaml
from .forms import AnswerForm


def answer_lines(
    document: Mapping[str, Any], form: AnswerForm, table: Callable[[], Iterable[str]]
) -> list[str]:
    """Return the lines of an answer: *document* for programs, those of *table* for people."""
    if form is AnswerForm.TABLE:
        return list(table())
    if form is AnswerForm.YAML:
        return to_yaml(document).split("\n")
    return visible_json(json.dumps(document, indent=2, ensure_ascii=False)).split("\n")
