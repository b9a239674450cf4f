"""The plugin keeps the contract."""

from __future__ import annotations

from hypothesis import strategies as st
from schedframe_coscheduling import POD_GROUP_LABEL, Coscheduling, PodGroup, PodGroupSpec

from schedframe import ObjectMeta, parse_quantity
from schedframe.testing import check_plugin, strategies

GROUPS = {POD_GROUP_LABEL: ["small", "large", "missing"]}
specs = st.builds(
    PodGroupSpec,
    min_member=st.sampled_from([1, 2, 5]),
    min_resources=st.sampled_from([{}, {"cpu": parse_quantity(2)}, {"pods": parse_quantity(3)}]),
)
groups = st.tuples(specs, specs).map(
    lambda found: [
        PodGroup(ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}-{name}"), spec)
        for name, spec in zip(("small", "large"), found, strict=True)
        for namespace in ("default", "other")
    ]
)


def test_contract() -> None:
    check_plugin(Coscheduling, pods=strategies.pods(labels=GROUPS), objects=groups, max_examples=15)
