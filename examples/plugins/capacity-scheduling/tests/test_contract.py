"""The plugin keeps the contract."""

from __future__ import annotations

from hypothesis import strategies as st
from schedframe_capacity_scheduling import CapacityScheduling, ElasticQuota, ElasticQuotaSpec

from schedframe import ObjectMeta, parse_quantity
from schedframe.testing import check_plugin, strategies

amounts = st.sampled_from([{}, {"cpu": parse_quantity("500m")}, {"cpu": parse_quantity(4)}])
quotas = st.lists(st.builds(ElasticQuotaSpec, amounts, amounts), max_size=2).map(
    lambda specs: [
        ElasticQuota(ObjectMeta(name="quota", namespace=namespace, uid=namespace), spec)
        for namespace, spec in zip(("a", "b"), specs, strict=False)
    ]
)


def test_contract() -> None:
    pods = strategies.pods(namespaces=("a", "b", "free"))
    check_plugin(CapacityScheduling, pods=pods, objects=quotas, max_examples=25)
