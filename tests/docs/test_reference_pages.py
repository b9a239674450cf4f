"""The generated reference: three pages of hooks, each hook with its extension point."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from schedframe.framework.hookspecs import Tier
from schedframe.framework.points import HOOKS, hooks_of_tier

from .tools import ROOT


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    sys.path.append(str(ROOT / "docs" / "_ext"))
    import_module("reference_pages").write(folder)
    return folder


def hooks_on(page: str) -> dict[str, str]:
    """Return the text of each hook on a page."""
    parts = re.split(r"\.\. py:function:: (\w+)\(", page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_each_tier_has_a_page(pages: Path) -> None:
    found = []
    for number, tier in enumerate(Tier, 1):
        hooks = hooks_on((pages / f"hooks-{number}-{tier.value}.rst").read_text(encoding="utf-8"))
        assert tuple(hooks) == hooks_of_tier(tier)
        found += hooks
    assert sorted(found) == sorted(HOOKS)


def test_every_hook_has_an_extension_point(pages: Path) -> None:
    for path in pages.glob("hooks-*.rst"):
        for hook, text in hooks_on(path.read_text(encoding="utf-8")).items():
            assert re.search(r"Extension points?: (``\w+``|any at which)", text), hook


def test_the_first_page_shows_what_an_author_begins_with(pages: Path) -> None:
    hooks = hooks_on((pages / "hooks-1-essential.rst").read_text(encoding="utf-8"))
    assert {"filter", "score", "reserve", "permit", "bind", "close"} <= hooks.keys()
    assert not {"filter_rows", "pod_signature", "prepare_filter", "score_groups"} & hooks.keys()


def test_values_have_the_text_below_their_assignment(pages: Path) -> None:
    text = (pages / "api.rst").read_text(encoding="utf-8")
    assert ".. py:data:: KINDS\n\n   Kind → class, for all kinds that the scheduler reads." in text
