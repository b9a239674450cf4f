"""What plugins declare: Depends, the attributes that it replaces, and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from schedframe import Depends, Normalization, hookimpl
from schedframe.errors import PluginError
from schedframe.framework import depends_on
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
    ("former", "what"),
    [
        ({"row_local": True}, Depends.ROW),
        ({"row_local": True, "node_only": True}, Depends.NODE_OBJECT),
        ({"row_local": True, "amounts_only": True}, Depends.ROW_RESOURCES),
        ({"row_local": True, "amounts_only": False}, Depends.ROW),
        ({"row_local": False}, Depends.CLUSTER),
    ],
)
def test_former_attributes_warn_and_mean_what_they_meant(former: dict[str, bool], what: Depends) -> None:
    cls = made(**former)
    with pytest.warns(DeprecationWarning, match=rf"plugin Mine: .*depends_on = Depends\.{what.name}"):
        check_plugin("Mine", cls)
    assert depends_on(cls) is what


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        ({"node_only": True}, "node_only alone mean nothing; declare depends_on in"),
        ({"amounts_only": True}, "amounts_only alone mean nothing"),
        (
            {"row_local": True, "node_only": True, "amounts_only": True},
            "row_local and node_only and amounts_only",
        ),
        (
            {"row_local": True, "depends_on": Depends.ROW},
            "depends_on replaces row_local; declare depends_on alone",
        ),
        ({"row_local": "yes"}, "row_local is 'yes', and is replaced by depends_on"),
        ({"depends_on": "row"}, "depends_on is 'row'; declare a member of Depends"),
        ({"depends_on": True}, "depends_on is True; declare a member of Depends"),
        ({"reads": "Namespace"}, "reads is 'Namespace'; declare a tuple of kinds"),
        ({"reads": ("Namespace", 5)}, "reads is ('Namespace', 5); declare a tuple of kinds"),
        ({"normalization": "by-max"}, "declare a member of Normalization"),
        ({"reads_snapshot": "yes"}, "reads_snapshot is 'yes'; declare True or False"),
        ({"binds_every_pod": "yes"}, "binds_every_pod is 'yes'; declare True or False"),
        ({"sorts_by_priority": 1}, "sorts_by_priority is 1; declare True or False"),
        ({"admits_for_good": ()}, "admits_for_good is (); declare True or False"),
        ({"sort_by_priority": True}, "did you mean sorts_by_priority?"),
        ({"row_locall": True}, "row_locall = True declares nothing; did you mean row_local (now"),
        ({"amount_only": True}, "did you mean amounts_only (now a member of Depends"),
        ({"depend_on": Depends.ROW}, "did you mean depends_on?"),
        ({"dependency": Depends.ROW}, "did you mean depends_on?"),
        ({"depends": "row"}, "did you mean depends_on?"),
        ({"normalisation": Normalization.BY_MAX}, "did you mean normalization?"),
        ({"read": ("Namespace",)}, "did you mean reads?"),
        ({"requires_schedfram": ">=0.1"}, "did you mean requires_schedframe?"),
        ({"read_snapshot": True}, "did you mean reads_snapshot?"),
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
        {"_row_locall": True},
        {"resources": ("cpu",)},
        {"reads": ("Namespace",), "depends_on": Depends.ROW},
    ],
)
def test_attributes_of_a_plugins_own(attributes: dict[str, Any]) -> None:
    check_plugin("Mine", made(**attributes))


def test_a_misspelt_declaration_of_a_base_class() -> None:
    assert "row_locals" in refusal(type("Derived", (made(row_locals=True),), {}))


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
