"""The generated reference: hooks with points and types, members of enums, fields of values."""

from __future__ import annotations

import inspect
import re
import sys
from enum import Enum
from importlib import import_module
from pathlib import Path

import attrs
import pytest

import schedframe
from schedframe.framework.declarations import DECLARATIONS
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


def _split_arguments(declared: str) -> list[str]:
    """Split at the commas outside of brackets."""
    found, depth = [""], 0
    for character in declared:
        depth += (character == "[") - (character == "]")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return found


def test_arguments_of_hooks_have_types(pages: Path) -> None:
    text = (pages / "hooks-1-essential.rst").read_text(encoding="utf-8")
    wanted = "filter(state: CycleState, pod: Pod, node_info: NodeInfo) -> Status | None"
    assert f".. py:function:: {wanted}" in text
    for path in pages.glob("hooks-*.rst"):
        for declared in re.findall(r"py:function:: \w+\((.*)\) -> \S", path.read_text(encoding="utf-8")):
            arguments = _split_arguments(declared)
            assert all(": " in each for each in arguments if each), declared


PACKAGES = ("errors", *(name for name in schedframe._PACKAGES if name != "errors"), "embed", "testing")


def public_classes(package: str) -> dict[str, type]:
    module = import_module(f"schedframe.{package}")
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in values.items() if inspect.isclass(value)}


def entries(text: str, name: str) -> dict[str, str]:
    """Return the text of each attribute in the entry of a class."""
    entry = re.search(rf"^\.\. autoclass:: [\w.]+\.{name}\b.*?(?=^\.\. |\Z)", text, re.MULTILINE | re.DOTALL)
    assert entry is not None, name
    parts = re.split(r"^   \.\. py:attribute:: (\w+)$", entry[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("package", PACKAGES)
def test_members_and_fields_have_their_lines(package: str, pages: Path) -> None:
    """Each member of an enum has a value and a sentence; each field of a value has a type."""
    text = (pages / f"{package}.rst").read_text(encoding="utf-8")
    for name, cls in public_classes(package).items():
        if issubclass(cls, Enum):
            found = entries(text, name)
            assert list(found) == list(cls.__members__), name
            for member, lines in found.items():
                assert re.search(r":value: .+\n\n      \S", lines), f"{name}.{member}: write what it means"
        elif attrs.has(cls):
            found = entries(text, name)
            assert list(found) == [each.name for each in attrs.fields(cls) if each.name[0] != "_"], name
            for field, lines in found.items():
                assert ":type: " in lines, f"{name}.{field}"


def test_the_page_of_declarations_has_all_of_them() -> None:
    text = (ROOT / "docs" / "reference" / "plugin-declarations.md").read_text(encoding="utf-8")
    for declaration in DECLARATIONS:
        assert f"\n## `{declaration}`\n" in text
        assert f"[`{declaration}`](#{declaration})" in text


def test_pictures_are_no_links() -> None:
    configuration = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    written = re.search(r'_LINK = re.compile\(r"(.*)"\)', configuration)
    assert written is not None
    assert re.search(written[1], "see [the page](../page.md)")
    assert not re.search(written[1], "![a picture](performance.svg)")
