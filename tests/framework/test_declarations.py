"""What plugins declare: Depends, and what is refused."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import schedframe
from schedframe import Depends, Normalization, hookimpl
from schedframe.errors import PluginError
from schedframe.framework import declarations, depends_on
from schedframe.framework.declarations import _FITS, DECLARATIONS, BoolDeclaration, TupleDeclaration
from schedframe.framework.points import HOOKS, HOT_HOOKS
from schedframe.framework.validation import check_plugin

from .fakes import plugin_class


def made(**attributes: Any) -> type[Any]:
    return plugin_class(filter=lambda self, node_info: None, **attributes)


def refusal(candidate: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PluginError) as caught:
            check_plugin("Mine", candidate)
    return str(caught.value)


@pytest.mark.parametrize("what", Depends)
def test_one_declaration(what: Depends) -> None:
    cls = made(depends_on=what)
    check_plugin("Mine", cls)
    assert depends_on(cls) is depends_on(cls()) is what


def test_the_default_is_the_whole_cluster() -> None:
    assert depends_on(made()) is Depends.CLUSTER


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"depends_on": "row"}, "depends_on is 'row'; declare a member of Depends"),
        ({"depends_on": True}, "depends_on is True; declare a member of Depends"),
        ({"reads": "Namespace"}, "reads is 'Namespace'; declare a tuple of kinds"),
        ({"reads": ("Namespace", 5)}, "reads is ('Namespace', 5); declare a tuple of kinds"),
        ({"normalization": "by-max"}, "declare a member of Normalization"),
        ({"returns_at_once": "yes"}, "returns_at_once is 'yes'; declare True or False"),
        ({"binds_every_pod": "yes"}, "binds_every_pod is 'yes'; declare True or False"),
        ({"sorts_by_priority": 1}, "sorts_by_priority is 1; declare True or False"),
        ({"admits_for_good": ()}, "admits_for_good is (); declare True or False"),
        ({"admits_by_group": 1}, "admits_by_group is 1; declare True or False"),
        ({"admits_by_groups": True}, "did you mean admits_by_group?"),
        ({"reads_no_node_of_members": True}, "did you mean reads_no_nodes_of_members?"),
        ({"device_matches": "all"}, "device_matches is 'all'; declare a static method"),
        ({"sort_by_priority": True}, "did you mean sorts_by_priority?"),
        ({"depend_on": Depends.ROW}, "did you mean depends_on?"),
        ({"dependency": Depends.ROW}, "did you mean depends_on?"),
        ({"depends": "row"}, "did you mean depends_on?"),
        ({"normalisation": Normalization.BY_MAX}, "did you mean normalization?"),
        ({"read": ("Namespace",)}, "did you mean reads?"),
        ({"return_at_once": True}, "did you mean returns_at_once?"),
    ],
)
def test_declarations_that_are_refused(attributes: dict[str, Any], text: str) -> None:
    assert text in refusal(made(**attributes))
    assert text in refusal(made(**attributes)())


@pytest.mark.parametrize(
    "attributes",
    [
        {"kind": "GPU"},
        {"reader": 5},
        {"depends": ["other-plugin"]},
        {"_depend_on": Depends.ROW},
        {"resources": ("cpu",)},
        {"reads": ("Namespace",), "depends_on": Depends.ROW},
    ],
)
def test_attributes_of_a_plugins_own(attributes: dict[str, Any]) -> None:
    check_plugin("Mine", made(**attributes))


def test_a_misspelt_declaration_of_a_base_class() -> None:
    assert "return_at_once" in refusal(type("Derived", (made(return_at_once=True),), {}))


# ---- one table ---------------------------------------------------------------------------------------------


def _reads_of_attributes(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield line, object and attribute of each ``getattr`` with a literal that reads no dunder."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("getattr", "hasattr"):
            of, attribute = call.args[:2]
            if isinstance(attribute, ast.Constant) and not str(attribute.value).startswith("__"):
                yield call.lineno, ast.unparse(of), str(attribute.value)


def test_declarations_are_read_by_the_functions_beside_the_table() -> None:
    package = Path(schedframe.__file__).parent
    reader = package / "framework" / "declarations.py"
    assert {name for _, _, name in _reads_of_attributes(reader)} <= DECLARATIONS.keys()
    found = [
        f"{path.relative_to(package)}:{line} reads {attribute} of {of}"
        for path in package.rglob("*.py")
        if path != reader
        for line, of, attribute in _reads_of_attributes(path)
        if "plugin" in of or attribute in DECLARATIONS
    ]
    assert not found, (
        f"put it in the table of framework/declarations.py, and read it by a function there: {found}"
    )


def test_every_declaration_has_a_check_and_a_way_to_read_it() -> None:
    named = {name for _, _, name in _reads_of_attributes(Path(declarations.__file__))}
    read = {*named, *get_args(BoolDeclaration), *get_args(TupleDeclaration)}
    assert read == DECLARATIONS.keys()
    assert _FITS.keys() == DECLARATIONS.keys()


# ---- hooks that need another one ---------------------------------------------------------------------------


@pytest.mark.parametrize("hook", [name for name, hook in HOOKS.items() if hook.spec.needs])
def test_a_hook_that_would_never_be_called(hook: str) -> None:
    needed = HOOKS[hook].spec.needs
    alone = plugin_class(**{hook: lambda self: None})
    assert f"is never called by itself; implement {' or '.join(needed)} too" in refusal(alone)
    for other in needed:
        check_plugin("Mine", plugin_class(**{hook: lambda self: None, other: lambda self: None}))


@pytest.mark.parametrize("form", ["prepare_filter", "filter_groups", "prepare_score", "score_groups"])
def test_a_form_without_its_base(form: str) -> None:
    base = HOOKS[form].spec.form_of
    assert f"Fake.{form} is a form of {base}" in refusal(plugin_class(**{form: lambda self: None}))


@pytest.mark.parametrize("hook", sorted(HOT_HOOKS))
def test_wrappers_are_refused_on_every_hot_hook(hook: str) -> None:
    beside = {each: hookimpl(lambda self: None) for each in HOOKS[hook].spec.needs}

    def wrap(self: Any) -> Any:
        return (yield)

    cls = type("Wraps", (), {"__module__": __name__, **beside, hook: hookimpl(wrapper=True)(wrap)})
    assert f"Wraps.{hook} is a wrapper, and wrappers are refused" in refusal(cls)
