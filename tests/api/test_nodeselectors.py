from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedframe.api import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    PodSpec,
    PreferredSchedulingTerm,
    compile_node_selector,
    compile_preferred_terms,
    label_key_problem,
    label_value_problem,
    node_selector_matches,
    parse_integer,
    required_node_affinity,
)

Expression = NodeSelectorRequirement


def node(name: str = "n1", **labels: str) -> Node:
    return Node(ObjectMeta(name=name, labels=labels))


def selector(*expressions: Expression, fields: tuple[Expression, ...] = ()) -> NodeSelector:
    return NodeSelector((NodeSelectorTerm(expressions, fields),))


@pytest.mark.parametrize(
    ("operator", "values", "matching", "others"),
    [
        ("In", ("1", "2"), ["1", "2"], ["3", None]),
        ("NotIn", ("1",), ["2", None], ["1"]),
        ("Exists", (), ["", "1"], [None]),
        ("DoesNotExist", (), [None], ["", "1"]),
        (
            "Gt",
            ("5",),
            ["6", "+6", "0010", "9223372036854775807"],
            ["5", "4", "-6", "six", "", "6.0", "1_0", None],
        ),
        ("Lt", ("5",), ["4", "-1", "-9223372036854775808"], ["5", "6", "9223372036854775808", "x", None]),
    ],
)
def test_operators(
    operator: str, values: tuple[str, ...], matching: list[str | None], others: list[str | None]
) -> None:
    wanted = selector(Expression("k", operator, values))
    for value in matching:
        assert node_selector_matches(wanted, node(**({} if value is None else {"k": value}))), value
    for value in others:
        assert not node_selector_matches(wanted, node(**({} if value is None else {"k": value}))), value


def test_one_term_is_enough_and_all_its_expressions_must_hold() -> None:
    both = NodeSelectorTerm((Expression("a", "Exists"), Expression("b", "Exists")))
    wanted = NodeSelector((both, NodeSelectorTerm((Expression("c", "Exists"),))))
    assert node_selector_matches(wanted, node(a="", b=""))
    assert node_selector_matches(wanted, node(c=""))
    assert not node_selector_matches(wanted, node(a=""))


def test_an_empty_term_and_no_term_match_no_node() -> None:
    assert not node_selector_matches(NodeSelector((NodeSelectorTerm(),)), node())
    assert not node_selector_matches(NodeSelector(), node())


def test_fields_know_the_name() -> None:
    assert node_selector_matches(selector(fields=(Expression("metadata.name", "In", ("n1",)),)), node())
    assert not node_selector_matches(selector(fields=(Expression("metadata.name", "In", ("n2",)),)), node())
    assert node_selector_matches(selector(fields=(Expression("metadata.name", "NotIn", ("n2",)),)), node())
    assert not node_selector_matches(selector(fields=(Expression("spec.x", "In", ("n1",)),)), node())


def test_a_value_that_is_no_number_is_told_and_matches_no_node() -> None:
    compiled = compile_node_selector(selector(Expression("speed", "Gt", ("five",))))
    assert not compiled.matches(node(speed="9"))
    assert compiled.error == (
        "nodeSelectorTerms[0].matchExpressions[0].values[0]: "
        "Invalid value: \"five\": for 'Gt', 'Lt' operators, the value must be an integer"
    )
    (error,) = compiled.errors
    assert error.path == "nodeSelectorTerms[0].matchExpressions[0].values[0]"
    assert error.type == "FieldValueInvalid"


def test_another_term_may_match_beside_a_broken_one() -> None:
    broken, good = Expression("speed", "Gt", ("five",)), Expression("speed", "Exists")
    compiled = compile_node_selector(NodeSelector((NodeSelectorTerm((broken,)), NodeSelectorTerm((good,)))))
    assert compiled.matches(node(speed="9"))
    assert compiled.error


@pytest.mark.parametrize(
    ("expression", "path", "type"),
    [
        (Expression("k", "Near", ("1",)), "matchExpressions[0].operator", "FieldValueNotSupported"),
        (Expression("k", "In"), "matchExpressions[0].values", "FieldValueInvalid"),
        (Expression("k", "Exists", ("1",)), "matchExpressions[0].values", "FieldValueInvalid"),
        (Expression("k", "Gt", ("1", "2")), "matchExpressions[0].values", "FieldValueInvalid"),
        (Expression("not a key!", "Exists"), "matchExpressions[0].key", "FieldValueInvalid"),
        (Expression("k", "In", ("not a value!",)), "matchExpressions[0].values[0][k]", "FieldValueInvalid"),
    ],
)
def test_parse_errors_have_the_type_and_path_of_the_reference(
    expression: Expression, path: str, type: str
) -> None:
    (error,) = compile_node_selector(selector(expression)).errors
    assert error.path == f"nodeSelectorTerms[0].{path}"
    assert error.type == type


def test_field_expressions_take_exactly_one_value() -> None:
    for expression, path in (
        (Expression("metadata.name", "In", ("a", "b")), "values"),
        (Expression("metadata.name", "Exists"), "operator"),
    ):
        (error,) = compile_node_selector(selector(fields=(expression,))).errors
        assert error.path == f"nodeSelectorTerms[0].matchFields[0].{path}"


def test_several_errors_are_told_in_brackets() -> None:
    compiled = compile_node_selector(selector(Expression("a", "Gt", ("x",)), Expression("b", "Lt", ("y",))))
    assert compiled.error.startswith("[nodeSelectorTerms[0].matchExpressions[0]")
    assert compiled.error.endswith("]")


def test_preferred_terms_add_their_weights() -> None:
    fast = NodeSelectorTerm((Expression("speed", "In", ("fast",)),))
    near = NodeSelectorTerm((Expression("zone", "Exists"),))
    terms = compile_preferred_terms(
        (
            PreferredSchedulingTerm(5, fast),
            PreferredSchedulingTerm(7, near),
            PreferredSchedulingTerm(9, NodeSelectorTerm()),
            PreferredSchedulingTerm(0, NodeSelectorTerm((Expression("x", "Gt", ("y",)),))),
        )
    )
    assert terms.score(node(speed="fast", zone="a")) == 12
    assert terms.score(node(zone="a")) == 7
    assert terms.score(node()) == 0
    assert terms.error == ""


def test_required_affinity_joins_node_selector_and_terms() -> None:
    affinity = Affinity(NodeAffinity(selector(Expression("b", "Exists"))))
    spec = PodSpec(node_selector={"a": "1"}, affinity=affinity)
    required = required_node_affinity(spec)
    assert required.matches(node(a="1", b=""))
    assert not required.matches(node(a="1"))
    assert not required.matches(node(b=""))
    assert required_node_affinity(spec.with_node_name("n1")) is required


def test_without_demands_every_node_will_do() -> None:
    assert required_node_affinity(PodSpec()).matches(node())


EXPRESSIONS = st.one_of(
    st.builds(
        Expression,
        st.sampled_from("ab"),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from("123"), min_size=1, max_size=2).map(tuple),
    ),
    st.builds(Expression, st.sampled_from("ab"), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(
        Expression,
        st.sampled_from("ab"),
        st.sampled_from(["Gt", "Lt"]),
        st.sampled_from("123").map(lambda v: (v,)),
    ),
)
TERMS = st.builds(NodeSelectorTerm, st.lists(EXPRESSIONS, max_size=2).map(tuple))


@given(
    st.builds(NodeSelector, st.lists(TERMS, max_size=3).map(tuple)),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["1", "2", "3", "x"])),
)
def test_matches_as_the_definition_says(wanted: NodeSelector, labels: dict[str, str]) -> None:
    def holds(each: Expression) -> bool:
        value = labels.get(each.key)
        if each.operator in ("Gt", "Lt"):
            if value is None or not value.isdigit():
                return False
            return (
                int(value) > int(each.values[0])
                if each.operator == "Gt"
                else int(value) < int(each.values[0])
            )
        return {
            "In": value in each.values,
            "NotIn": value not in each.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[each.operator]

    naive = any(term.match_expressions and all(map(holds, term.match_expressions)) for term in wanted.terms)
    assert node_selector_matches(wanted, node(**labels)) == naive


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("0" * 40 + "7", 7),
        ("", None),
        (" 1", None),
        ("1e3", None),
        ("١", None),
    ],
)
def test_integers_are_those_of_the_reference(text: str, number: int | None) -> None:
    assert parse_integer(text) == number


def test_label_syntax() -> None:
    for key in ("a", "example.com/Name_1.x", "a" * 63):
        assert label_key_problem(key) == ""
    for key in ("", "/a", "a/", "a/b/c", "-a", "a" * 64, "UPPER.com/a", "a b"):
        assert label_key_problem(key) != ""
    assert label_value_problem("") == ""
    assert label_value_problem("a-b.c_1") == ""
    assert label_value_problem("-a")
    assert label_value_problem("a" * 64)
