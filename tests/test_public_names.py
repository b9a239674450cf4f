"""The public names: exported once, imported when first used, and typed by a generated stub."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

import pytest

import schedframe
from tests.public_stub import STUB

ROOT = Path(schedframe.__file__).parents[1]
MOST_NAMES = 75


def stub_names() -> dict[str, str]:
    """Return the package of each name in the stub."""
    statements = ast.parse(STUB.read_text(encoding="utf-8")).body
    imports = [node for node in statements if isinstance(node, ast.ImportFrom)]
    return {alias.asname or "": node.module or "" for node in imports for alias in node.names}


def test_the_stub_agrees_with_the_list() -> None:
    expected = {**schedframe._PACKAGE_OF, "__version__": "_version"}
    assert stub_names() == expected, "run: python -m tests.public_stub"
    assert set(schedframe.__all__) == set(expected)
    (assigned,) = [each for each in ast.parse(STUB.read_text()).body if isinstance(each, ast.Assign)]
    assert ast.unparse(assigned.targets[0]) == "__all__"
    assert sorted(ast.literal_eval(assigned.value)) == schedframe.__all__


def test_the_top_level_stays_small() -> None:
    assert len(schedframe.__all__) <= MOST_NAMES
    assert list(schedframe._FIRST_PAGE) == ["build", "plug in", "core", "objects", "errors"]
    core = {name for names in schedframe._FIRST_PAGE["core"].values() for name in names}
    assert core >= {"CycleState", "Framework", "Heap", "PriorityQueue", "Status"}


def test_no_name_stands_in_two_groups() -> None:
    groups = schedframe._FIRST_PAGE.values()
    names = [name for group in groups for names in group.values() for name in names]
    assert len(names) == len(set(names))


def test_every_package_is_an_attribute() -> None:
    code = "import schedframe\n" + "".join(f"schedframe.{name}.__all__\n" for name in schedframe._PACKAGES)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_is_the_one_of_its_package() -> None:
    packages = {
        name: importlib.import_module(f"schedframe.{package}")
        for name, package in schedframe._PACKAGE_OF.items()
    }
    assert [name for name, package in packages.items() if name not in package.__all__] == []
    others = [name for name, each in packages.items() if getattr(schedframe, name) is not getattr(each, name)]
    assert others == []


def undocumented(cls: type) -> list[str]:
    """Return public attributes that ``__init__`` sets, and that neither a text below nor the class names."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    declared = {each.target.id for each in tree.body if isinstance(each, ast.AnnAssign)}  # type: ignore[union-attr]  # a name
    said = set(re.findall(r"``(\w+)``", cls.__doc__ or ""))
    found = []
    for method in tree.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            for statement, following in pairwise([*method.body, ast.Pass()]):
                has_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
                found += [
                    name for name in names_set(statement) if not has_text and name not in declared | said
                ]
    return found


def names_set(statement: ast.stmt) -> list[str]:
    """Return the public attributes of ``self`` that a statement assigns."""
    stored = [node for node in ast.walk(statement) if isinstance(node, ast.Attribute)]
    return [
        node.attr
        for node in stored
        if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self" and node.attr[0] != "_"
    ]


def test_public_attributes_say_what_they_are() -> None:
    values = [getattr(schedframe, name) for name in schedframe.__all__]
    bases = {base for value in values if isinstance(value, type) for base in value.__mro__}
    own = [base for base in bases if base.__module__.startswith("schedframe.")]
    missing = {base.__qualname__: found for base in own if (found := undocumented(base))}
    assert len(own) > len(schedframe._PACKAGES)
    assert not missing, "write below the assignment what it is, or begin its name with an underscore"


def test_packages_load_when_they_are_used() -> None:
    code = (
        "import sys, schedframe\n"
        "loaded = {m for m in sys.modules if m.startswith('schedframe.')}\n"
        "assert loaded == {'schedframe._version'}, loaded\n"
        "assert 'numpy' not in sys.modules\n"
        "schedframe.Pod\n"
        "assert 'schedframe.api' in sys.modules and 'schedframe.cycle' not in sys.modules\n"
        "assert schedframe.cycle.Scheduler is schedframe.Scheduler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Schedular'"):
        _ = schedframe.Schedular  # type: ignore[attr-defined]  # that is the test
    assert "Scheduler" in dir(schedframe)
