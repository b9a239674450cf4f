"""Hypothesis strategies for API values, made from the declarations of the classes themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import attrs
from hypothesis import strategies as st

from schedframe.api import (
    KINDS,
    LabelSelectorRequirement,
    NodeSelectorRequirement,
    Quantity,
    parse_quantity,
)
from schedframe.api._wire import WIRE, Wire
from schedframe.api.codec import CHECK
from schedframe.api.fieldcodecs import AMOUNTS, TIME, TIMES
from schedframe.api.groups import (
    VERSION,
    BasicSchedulingPolicy,
    GangSchedulingPolicy,
    PodGroupResourceClaim,
    PodGroupSchedulingPolicy,
)
from schedframe.errors import InputError

words = st.text("abcdefghij-./0123456789", min_size=1, max_size=12)
label_words = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,8}[a-z0-9])?", fullmatch=True)
numbers = st.integers(-(2**31), 2**31 - 1)
times = st.integers(-(10**12), 10**15).map(lambda micros: micros / 1_000_000)
quantity_texts = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "", "+", "-"]),
    st.one_of(
        st.integers(0, 10**20).map(str),
        st.decimals(0, 10**6, places=4).map(lambda value: f"{value:f}"),
        st.integers(0, 999).map(lambda value: f".{value}"),
        st.integers(0, 999).map(lambda value: f"{value}."),
    ),
    st.sampled_from(
        [
            "",
            "n",
            "u",
            "m",
            "k",
            "M",
            "G",
            "T",
            "P",
            "E",
            "Ki",
            "Mi",
            "Gi",
            "Ti",
            "Pi",
            "Ei",
            "e3",
            "E-3",
            "e+2",
        ]
    ),
)
quantities = quantity_texts.map(parse_quantity)
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "native"]),
    quantities.filter(lambda amount: amount.nano >= 0),
    max_size=3,
)


def _label_requirement() -> st.SearchStrategy[LabelSelectorRequirement]:
    values = st.lists(words, min_size=1, max_size=3).map(tuple)
    return st.one_of(
        st.builds(LabelSelectorRequirement, words, st.sampled_from(["In", "NotIn"]), values),
        st.builds(LabelSelectorRequirement, words, st.sampled_from(["Exists", "DoesNotExist"])),
    )


@cache
def values_of(cls: Any) -> st.SearchStrategy[Any]:
    """Return instances of an attrs class of the API. Each field is drawn by its type or has its default."""
    if cls is LabelSelectorRequirement:
        return _label_requirement()
    if cls is NodeSelectorRequirement:
        # what is valid both as a label expression and as a field expression
        return st.builds(NodeSelectorRequirement, words, st.just("In"), words.map(lambda word: (word,)))
    if cls in _ONE_OF_TWO:
        return st.one_of(*(st.builds(cls, **{name: given}) for name, given in _ONE_OF_TWO[cls].items()))
    hints = get_type_hints(cls)
    fields = {}
    for attribute in attrs.fields(cls):
        declared: Wire = attribute.metadata.get(WIRE) or Wire()
        if declared.skip:
            continue
        fields[attribute.alias] = st.one_of(
            st.just(attribute.default), _field(hints[attribute.name], attribute, declared)
        )
    made = st.builds(cls, **fields)
    return made.filter(_is_valid) if hasattr(cls, CHECK) else made


_ONE_OF_TWO: dict[Any, dict[str, st.SearchStrategy[Any]]] = {
    PodGroupSchedulingPolicy: {
        "basic": st.just(BasicSchedulingPolicy()),
        "gang": st.builds(GangSchedulingPolicy, st.integers(1, 2**31 - 1)),
    },
    PodGroupResourceClaim: {"resource_claim_name": words, "resource_claim_template_name": words},
}
"""Classes of which exactly one of two fields is set."""


def _is_valid(made: Any) -> bool:
    try:
        made._check_manifest()
    except InputError:
        return False
    return True


def _field(hint: Any, attribute: attrs.Attribute[Any], declared: Wire) -> st.SearchStrategy[Any]:
    special = {
        id(TIME[WIRE]): times,
        id(AMOUNTS[WIRE]): amounts,
        id(TIMES[WIRE]): st.dictionaries(words, times),
        id(VERSION[WIRE]): st.sampled_from(["scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1beta1"]),
    }
    return special[id(declared)] if id(declared) in special else _typed(hint, declared.bits)


def _typed(hint: Any, bits: int) -> st.SearchStrategy[Any]:
    simple: dict[Any, st.SearchStrategy[Any]] = {
        Any: st.dictionaries(words, words),
        str: words,
        bool: st.booleans(),
        int: numbers,
        Quantity: quantities,
    }
    if hint in simple:
        return simple[hint]
    if attrs.has(hint):
        return st.deferred(lambda: values_of(hint))
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of(*(_typed(arg, bits) for arg in args if arg is not NoneType))
    if origin is tuple:
        return st.lists(_typed(args[0], bits), max_size=2).map(tuple)
    if origin is Mapping:
        return st.dictionaries(words, _typed(args[1], bits), max_size=2)
    raise TypeError(hint)


objects = st.sampled_from(sorted(KINDS)).flatmap(lambda kind: values_of(cast("Any", KINDS[kind])))
