"""What plugins declare: Depends, and what is refused."""

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
    ("attributes", "text"),
    [
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
        {"_depend_on": Depends.ROW},
        {"resources": ("cpu",)},
        {"reads": ("Namespace",), "depends_on": Depends.ROW},
    ],
)
def test_attributes_of_a_plugins_own(attributes: dict[str, Any]) -> None:
    check_plugin("Mine", made(**attributes))


def test_a_misspelt_declaration_of_a_base_class() -> None:
    assert "read_snapshot" in refusal(type("Derived", (made(read_snapshot=True),), {}))


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
