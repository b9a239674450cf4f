"""The plugin keeps the contract."""

from __future__ import annotations

from schedframe_node_metadata import NodeMetadata

from schedframe.testing import check_plugin, strategies

ARGS = {
    "metadataKey": "example.com/cost",
    "metadataSource": "Annotation",
    "metadataType": "Number",
    "scoringStrategy": "Lowest",
}
COSTS = {"example.com/cost": ["1", "2.5", "-7", "much"]}


def test_contract() -> None:
    check_plugin(NodeMetadata, ARGS, nodes=strategies.nodes(annotations=COSTS), max_examples=25)
