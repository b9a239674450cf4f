"""The page of rules for manifests names every type that is checked."""

from __future__ import annotations

from pathlib import Path

from schedframe.api.validation import checks, rules
from schedframe.api.validation.published import OBJECT_META, published_types
from schedframe.api.validation.whole import (
    ADMITTED_CHECKS,
    CHECKS,
    CHECKS_AFTER,
    REQUIRED_CHECKS,
    SEEN_AS,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "manifest-rules.md"
BY_TYPE = (ADMITTED_CHECKS, CHECKS, CHECKS_AFTER, REQUIRED_CHECKS, SEEN_AS, rules.REQUIRED)
BY_FIELD = (rules.VALUES, rules.RANGES, checks.NAMES)
OF_FIELDS = (rules.LABELS, rules.LABEL_KEYS, rules.LABEL_VALUES, rules.REQUESTS)


def checked() -> set[str]:
    """Return the published types that rules are about."""
    fields = {field for table in (*BY_FIELD, *OF_FIELDS) for field in table}
    return {OBJECT_META, *(name for table in BY_TYPE for name in table)} | {
        field.rpartition(".")[0] for field in fields
    }


def test_every_type_that_is_checked_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert {name for name in checked() if f"`{name.rpartition('.')[2]}`" not in text} == set()


def test_rules_are_about_published_types_and_fields() -> None:
    types = published_types()
    assert checked() <= types.keys()
    for table in (*BY_FIELD, *OF_FIELDS):
        for field in table:
            name, _, key = field.rpartition(".")
            assert key in types[name], field
    for name, paths in rules.REQUIRED.items():
        for path in paths:
            assert path.split(".")[0] in types[name], (name, path)
