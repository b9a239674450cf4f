"""The cluster as the scheduler sees it: columns, node infos, cache, snapshots."""

from __future__ import annotations

from .cache import Cache, PodState
from .change_log import ChangeLog
from .change_reader import RowChangeReader
from .columns import DerivedColumn, DictionaryColumn
from .comparer import Comparison, compare
from .derived_arrays import DerivedArrays
from .domains import Domains, NodeSubset
from .group_members import GroupCache, GroupMembers
from .images import ImageIndex, ImageState
from .label_groups import LabelGroups
from .node_info import NO_NODE, NodeInfo
from .node_order import NodeOrder, zone_of
from .node_table import LazyRows, NodeTable, Rows
from .objects import ObjectStore
from .pod_counts import CountColumn, DomainSums, LabelGroup, TermClass
from .ports import port_conflicts
from .row_states import RowsByState, RowState
from .snapshot import Snapshot
from .table_store import TableStore
from .trial import substituted_row

__all__ = [
    "NO_NODE",
    "Cache",
    "ChangeLog",
    "Comparison",
    "CountColumn",
    "DerivedArrays",
    "DerivedColumn",
    "DictionaryColumn",
    "DomainSums",
    "Domains",
    "GroupCache",
    "GroupMembers",
    "ImageIndex",
    "ImageState",
    "LabelGroup",
    "LabelGroups",
    "LazyRows",
    "NodeInfo",
    "NodeOrder",
    "NodeSubset",
    "NodeTable",
    "ObjectStore",
    "PodState",
    "RowChangeReader",
    "RowState",
    "Rows",
    "RowsByState",
    "Snapshot",
    "TableStore",
    "TermClass",
    "compare",
    "port_conflicts",
    "substituted_row",
    "zone_of",
]
