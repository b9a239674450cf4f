from __future__ import annotations

import pickle
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import (
    EVERYTHING,
    NOTHING,
    CompiledAffinityTerm,
    LabelSelector,
    LabelSelectorRequirement,
    PodAffinityTerm,
    compile_label_map,
    compile_label_selector,
    label_selector_matches,
)
from schedframe.errors import InputError

KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["", "1", "2"])
LABELS = st.dictionaries(KEYS, VALUES)
EXPRESSIONS = st.one_of(
    st.builds(
        LabelSelectorRequirement,
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=3).map(tuple),
    ),
    st.builds(LabelSelectorRequirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
)
SELECTORS = st.builds(LabelSelector, LABELS, st.lists(EXPRESSIONS, max_size=3).map(tuple))


def naive(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    def holds(expression: LabelSelectorRequirement) -> bool:
        has, value = expression.key in labels, labels.get(expression.key)
        return {
            "In": has and value in expression.values,
            "NotIn": not has or value not in expression.values,
            "Exists": has,
            "DoesNotExist": not has,
        }[expression.operator]

    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        holds(expression) for expression in selector.match_expressions
    )


@given(SELECTORS, LABELS)
def test_matches_as_the_definition_says(selector: LabelSelector, labels: dict[str, str]) -> None:
    assert label_selector_matches(selector, labels) == naive(selector, labels)


@given(SELECTORS, SELECTORS, st.lists(LABELS, max_size=5))
def test_equal_compiled_selectors_match_alike(
    left: LabelSelector, right: LabelSelector, many: list[dict[str, str]]
) -> None:
    one, two = compile_label_selector(left), compile_label_selector(right)
    if one == two:
        assert hash(one) == hash(two)
        assert [one.matches(labels) for labels in many] == [two.matches(labels) for labels in many]


def test_no_selector_matches_nothing_and_the_empty_one_everything() -> None:
    assert compile_label_selector(None) == NOTHING
    assert compile_label_selector(None).matches_nothing
    assert not NOTHING.matches({})
    assert not NOTHING.matches({"a": "1"})
    assert compile_label_selector(LabelSelector()) == EVERYTHING
    assert compile_label_selector(LabelSelector()).matches_everything
    assert EVERYTHING.matches({})
    assert compile_label_map({}).matches_everything


def test_order_and_spelling_do_not_distinguish_selectors() -> None:
    by_map = LabelSelector({"a": "1", "b": "2"})
    by_expression = LabelSelector(
        {"b": "2"},
        (LabelSelectorRequirement("a", "In", ("1",)), LabelSelectorRequirement("a", "In", ("1", "1"))),
    )
    assert compile_label_selector(by_map) == compile_label_selector(by_expression)


def test_a_compiled_selector_survives_pickling() -> None:
    compiled = compile_label_selector(LabelSelector({"a": "1"}))
    again = pickle.loads(pickle.dumps(compiled))
    assert again == compiled
    assert again.matches({"a": "1"})


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        (LabelSelectorRequirement("a", "Gt", ("1",)), "matchExpressions[0].operator"),
        (LabelSelectorRequirement("a", "in", ("1",)), "matchExpressions[0].operator"),
        (LabelSelectorRequirement("a", "In"), "matchExpressions[0].values"),
        (LabelSelectorRequirement("a", "Exists", ("1",)), "matchExpressions[0].values"),
        (LabelSelectorRequirement("", "Exists"), "matchExpressions[0].key"),
    ],
)
def test_bad_expressions_name_their_path(expression: LabelSelectorRequirement, path: str) -> None:
    with pytest.raises(InputError) as caught:
        compile_label_selector(LabelSelector(match_expressions=(expression,)))
    assert caught.value.path == path


def test_a_label_of_a_million_characters_is_compared_like_any_other() -> None:
    long = "x" * 1_000_000
    assert label_selector_matches(LabelSelector({"a": long}), {"a": long})
    assert not label_selector_matches(LabelSelector({"a": long}), {"a": long + "x"})


class TestAffinityTerm:
    WEB = LabelSelector({"app": "web"})

    def test_without_namespaces_it_means_that_of_the_pod(self) -> None:
        term = CompiledAffinityTerm(PodAffinityTerm(self.WEB, topology_key="zone"), "shop")
        assert term.matches("shop", {"app": "web"}, {})
        assert not term.matches("other", {"app": "web"}, {"any": "label"})
        assert not term.matches("shop", {"app": "db"}, {})

    def test_listed_namespaces_replace_it(self) -> None:
        term = CompiledAffinityTerm(PodAffinityTerm(self.WEB, namespaces=("other",)), "shop")
        assert term.matches("other", {"app": "web"}, {})
        assert not term.matches("shop", {"app": "web"}, {})

    def test_selected_namespaces_add_to_the_listed_ones(self) -> None:
        selector = LabelSelector({"team": "x"})
        term = CompiledAffinityTerm(
            PodAffinityTerm(self.WEB, ("other",), namespace_selector=selector), "shop"
        )
        assert term.matches("other", {"app": "web"}, {})
        assert term.matches("shop", {"app": "web"}, {"team": "x"})
        assert not term.matches("shop", {"app": "web"}, {})

    def test_the_empty_namespace_selector_means_all(self) -> None:
        term = CompiledAffinityTerm(PodAffinityTerm(self.WEB, namespace_selector=LabelSelector()), "shop")
        assert term.matches("anywhere", {"app": "web"}, {})

    def test_equal_terms_are_equal(self) -> None:
        one = CompiledAffinityTerm(PodAffinityTerm(self.WEB, topology_key="zone"), "shop")
        two = CompiledAffinityTerm(PodAffinityTerm(self.WEB, ("shop",), "zone"), "other")
        assert one == two
        assert hash(one) == hash(two)
        assert one != CompiledAffinityTerm(PodAffinityTerm(self.WEB, ("shop",), "rack"), "other")
