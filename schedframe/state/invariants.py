"""Checks of the rows of a table against its nodes and pods, recomputed from nothing."""

from __future__ import annotations

from ..errors import InvariantError
from .node_info import NO_NODE, NodeInfo
from .resource_columns import LARGEST_SUM
from .sparse_resources import FIRST_RESOURCES
from .table_store import TableStore


def check_store(table: TableStore) -> None:
    """Raise :class:`InvariantError` at the first difference; O(nodes × resources + pods)."""
    used = list(table.used_rows())
    for log in (table.row_log, table.node_log, table.replaced_log):
        log.check_invariants()
    _check_rows(table, used)
    ports: dict[tuple[str, int], dict[int, dict[str, int]]] = {}
    for row in used:
        fresh = _recount(table, row)
        _check_columns(table, row, fresh)
        info = table._infos[row]  # not table.info(row): checking must not make what it checks
        for key, users in fresh.used_ports.items():
            ports.setdefault(key, {})[row] = users
        if info is None:
            continue
        same(f"node info of {info.name}: pods", info.pods, table.pods_at(row))
        same(f"node info of {info.name}: requested", _without_zeros(info.requested), fresh.requested)
        same(f"node info of {info.name}: ports", info.used_ports, fresh.used_ports)
        same(
            f"node info of {info.name}: non-zero requests",
            (info.non_zero_cpu, info.non_zero_memory),
            (fresh.non_zero_cpu, fresh.non_zero_memory),
        )
        same(f"node info of {info.name}: node", info.node, table.node_at(row) or NO_NODE)
    same("ports", table.ports, ports)
    _check_sparse(table, used)
    affinities = [pod.spec.affinity for row in used for pod in table.pods_at(row).values()]
    with_terms = sum(1 for a in affinities if a is not None and (a.pod_affinity or a.pod_anti_affinity))
    same("pods with affinity", table.pods_with_affinity, with_terms)
    _check_images(table, used)


def _check_rows(table: TableStore, used: list[int]) -> None:
    live = [row for row in used if table.node_at(row) is not None]
    same("number of nodes", table.num_nodes, len(live))
    same("rows with a node", set(table.alive.nonzero()[0].tolist()), set(live))
    _check_free(table, used)
    tainted = {
        row: node.spec.taints for row in live if (node := table.node_at(row)) is not None and node.spec.taints
    }
    same("rows with taints", table.tainted, tainted)
    for row in used:
        name = table.name_of(row)
        same(f"row of {name}", table.row_of(name), row)
        if table.node_at(row) is None and not table.pods_at(row) and not table.undo.marks:
            raise InvariantError(f"row {row} of {name} has neither node nor pods, and is not free")


def _check_free(table: TableStore, used: list[int]) -> None:
    amounts = table._amounts
    free = sorted(set(range(table.size)).difference(used))
    same("free rows", sorted(table._free), free)
    for row in [*free, *range(table.size, table.capacity)]:
        columns = [table.pod_count, table.allowed_pods, amounts.room, table.unschedulable, *amounts.non_zero]
        columns += [*amounts.first_allocatable, *amounts.first_requested]
        same(f"amounts of the unused row {row}", [int(column[row]) for column in columns if column[row]], [])


def _check_sparse(table: TableStore, used: list[int]) -> None:
    sparse = table._amounts.sparse
    there: dict[str, dict[int, int]] = {}
    requested: dict[str, dict[int, int]] = {}
    for row in used:
        fresh = _recount(table, row)
        for amounts, found, dense in (
            (fresh.allocatable, there, (*FIRST_RESOURCES, "pods")),
            (fresh.requested, requested, FIRST_RESOURCES),
        ):
            for name, amount in amounts.items():
                if name not in dense and amount:
                    found.setdefault(name, {})[row] = min(amount, LARGEST_SUM)
    for name in sparse:
        same(f"amounts of {name} by row", sparse.by_row(name), (there.pop(name, {}), requested.pop(name, {})))
    same("missing resources", (there, requested), ({}, {}))


def _check_images(table: TableStore, used: list[int]) -> None:
    rows: dict[str, set[int]] = {}
    for row in used:
        node = table.node_at(row)
        for image in node.status.images if node is not None else ():
            for name in image.names:
                rows.setdefault(name, set()).add(row)
    same("number of image names", len(table.images), len(rows))
    for name, where in rows.items():
        state = table.images.get(name)
        same(f"rows with image {name}", state.rows if state is not None else None, where)
        if state is not None:
            present = state.present(table.capacity)
            same(f"column of image {name}", set(present.nonzero()[0].tolist()), where)


def _recount(table: TableStore, row: int) -> NodeInfo:
    info = NodeInfo(table.name_of(row), table.node_at(row) or NO_NODE)
    for uid, pod in table.pods_at(row).items():
        same("uid of a pod", uid, pod.uid)
        info.add_pod(pod)
    info.requested = _without_zeros(info.requested)
    return info


def _check_columns(table: TableStore, row: int, fresh: NodeInfo) -> None:
    where = f"row {row} ({fresh.name})"
    for resource in FIRST_RESOURCES:
        allocatable = int(table.allocatable(resource)[row])
        same(f"{where}: allocatable {resource}", allocatable, fresh.allocatable.get(resource, 0))
        requested = int(table.requested(resource)[row])
        same(f"{where}: requested {resource}", requested, min(fresh.requested.get(resource, 0), LARGEST_SUM))
    for resource, amount in (("cpu", fresh.non_zero_cpu), ("memory", fresh.non_zero_memory)):
        found = int(table.non_zero_requested(resource)[row])
        same(f"{where}: non-zero {resource}", found, min(amount, LARGEST_SUM))
    same(f"{where}: pods", int(table.pod_count[row]), len(fresh.pods))
    same(f"{where}: allowed pods", int(table.allowed_pods[row]), fresh.allowed_pods)
    same(f"{where}: room", int(table._amounts.room[row]), int(len(fresh.pods) < fresh.allowed_pods))
    unschedulable = fresh.node.spec.unschedulable
    same(f"{where}: unschedulable", bool(table.unschedulable[row]), unschedulable)


def _without_zeros(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amount for name, amount in amounts.items() if amount}


def same(what: str, found: object, expected: object) -> None:
    """Raise :class:`InvariantError` unless *found* equals *expected*."""
    if found != expected:
        raise InvariantError(f"{what}: {found!r}, recomputed {expected!r}")
