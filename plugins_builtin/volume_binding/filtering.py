"""Filtering: can the pod's volumes be used from a node, or be bound or provisioned there?

The per-node form and the form by rows agree. A rejection is a set of reasons, kept as bits; its filter code
is the number of that set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from schedframe import Node, Rows, RowVerdicts, Status
from schedframe.api import PersistentVolumeClaim

from .._node_selection import rows_named, rows_selected
from .._volumes_csi_nodes import CsiNodes
from .claims import BoundVolume, PodClaims
from .provisioning import Outcome, ProvisioningRequest
from .static_matching import assign_volumes, satisfiable_rows
from .volumes import Labels, reaches

ERR_REASON_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
ERR_REASON_NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
ERR_REASON_NO_SPACE = "node(s) did not have enough free storage"
ERR_REASON_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

_AFFINITY: Final = 1
_NO_VOLUME: Final = int(Outcome.IMPOSSIBLE)
_NO_SPACE: Final = int(Outcome.NO_SPACE)
_MISSING: Final = 8
_ERRORS: Final = 16
"""Values from here on are errors: multiples that number the errors of this call."""
_REASONS: Final = (
    (_AFFINITY, ERR_REASON_AFFINITY),
    (_NO_VOLUME, ERR_REASON_NO_VOLUME),
    (_NO_SPACE, ERR_REASON_NO_SPACE),
    (_MISSING, ERR_REASON_MISSING),
)
_STATUSES: Final = tuple(
    Status.unresolvable(*(reason for bit, reason in _REASONS if bits & bit)) for bits in range(1, _ERRORS)
)
"""Status for each set of reasons, from 1 on: the bits are the filter codes."""

_Bits = npt.NDArray[np.int8]


def _status(bits: int) -> Status:
    return _STATUSES[bits - 1]


def filter_node(claims: PodClaims, node: Node, migrated: frozenset[str]) -> Status | None:
    """Return the rejection of *node*, where the plugins *migrated* use CSI; ``None`` if it is feasible."""
    bits = rejection_of_bound(claims.bound, node.labels, migrated)
    if isinstance(bits, Status):
        return bits
    bits |= _bits_of_unbound(claims, node)
    return _status(bits) if bits else None


def rejection_of_bound(
    volumes: Iterable[BoundVolume], labels: Labels, migrated: frozenset[str]
) -> int | Status:
    """Return the bit of the first volume that rejects a node with these labels; 0 if none does."""
    for volume in volumes:
        if not volume.exists:
            return _MISSING
        selector = volume.selector
        if volume.plugin is not None and volume.plugin.name in migrated:
            if volume.migration_error is not None:
                return volume.migration_error
            selector = volume.migrated_selector
        if not reaches(selector, labels):
            return _AFFINITY
    return 0


def _bits_of_unbound(claims: PodClaims, node: Node) -> int:
    if any(name != node.name for name, _ in claims.selected):
        return _NO_VOLUME
    _, requests = assign_claims(claims, node.labels)
    for request in requests:
        outcome = request.outcome(node.labels)
        if outcome:
            return outcome
    return 0


def assign_claims(
    claims: PodClaims, labels: Labels
) -> tuple[list[tuple[PersistentVolumeClaim, str]], list[ProvisioningRequest]]:
    """Assign volumes on a node with these labels.

    Return the claims with the volumes that they get, and the requests to provision the others.
    """
    chosen = assign_volumes(claims.matches, labels)
    bindings = [
        (match.claim, name) for match, name in zip(claims.matches, chosen, strict=True) if name is not None
    ]
    requests = [request for _, request in claims.selected]
    for request, name in zip(claims.requests, chosen, strict=True):
        if name is None:
            requests.append(request)
    return bindings, requests


# ---- by rows ---------------------------------------------------------------------------------------------


def filter_rows(claims: PodClaims, rows: Rows, csi_nodes: CsiNodes) -> RowVerdicts | None:
    """As :func:`filter_node` for many rows; O(rows) for each volume or claim.

    Competing claims of one storage class are assigned once for each label class of nodes.
    """
    if claims.all_bound and len(claims.bound) == 1 and claims.bound[0].plugin is None:
        return _filter_single(claims.bound[0], rows)
    bits: _Bits = np.zeros(len(rows), np.int8)
    errors = _filter_bound(claims.bound, rows, csi_nodes, bits)
    if claims.selected:
        _filter_selected(claims, rows, bits)
    elif claims.matches:
        _filter_unbound(claims, rows, bits)
    highest = int(bits.max(initial=0))
    if not highest:
        return None
    return _numbered(bits, errors) if errors else RowVerdicts(bits, _STATUSES[:highest])


def _numbered(bits: _Bits, errors: list[Status]) -> RowVerdicts:
    """Return verdicts with only the statuses that occur."""
    present = np.bincount(bits).nonzero()[0]
    present = present[present > 0]
    code_of = np.zeros(int(present[-1]) + 1, np.int8)
    code_of[present] = np.arange(1, len(present) + 1)
    statuses = [_status(n) if n < _ERRORS else errors[n // _ERRORS - 1] for n in present.tolist()]
    return RowVerdicts(code_of[bits], statuses)


def _filter_single(volume: BoundVolume, rows: Rows) -> RowVerdicts | None:
    """As :func:`filter_rows` for one bound volume, the most frequent case."""
    if not volume.exists:
        return RowVerdicts(np.ones(len(rows), np.int8), (_status(_MISSING),))
    if volume.selector is None:
        return None
    accepted = rows_selected(volume.selector, rows)
    return None if accepted.all() else RowVerdicts.where(~accepted, _status(_AFFINITY))


def _filter_bound(
    volumes: Iterable[BoundVolume], rows: Rows, csi_nodes: CsiNodes, bits: _Bits
) -> list[Status]:
    """Set *bits*; return the errors that they number."""
    errors: list[Status] = []
    for volume in volumes:
        if not volume.exists:
            bits[bits == 0] = _MISSING
            break
        rejected = None if volume.selector is None else ~rows_selected(volume.selector, rows)
        if volume.plugin is not None:
            migrated = rows.take(_where_migrated(volume.plugin.name, csi_nodes))
            if volume.migration_error is not None:
                errors.append(volume.migration_error)
                bits[migrated & (bits == 0)] = _ERRORS * len(errors)
            else:
                selector = volume.migrated_selector
                if_migrated = (
                    np.zeros(len(rows), np.bool_) if selector is None else ~rows_selected(selector, rows)
                )
                rejected = np.where(migrated, if_migrated, np.False_ if rejected is None else rejected)
        if rejected is not None:
            bits[rejected & (bits == 0)] = _AFFINITY
    return errors


def _where_migrated(plugin: str, csi_nodes: CsiNodes) -> npt.NDArray[np.bool_]:
    csi_nodes.sync()
    has = np.array([plugin in plugins for plugins in csi_nodes.plugins], np.bool_)
    return has[csi_nodes.migrated]


def _filter_selected(claims: PodClaims, rows: Rows, bits: _Bits) -> None:
    """Reject all nodes but the one that the claims are being provisioned for."""
    here = np.ones(len(rows), np.bool_)
    for name in {name for name, _ in claims.selected}:
        here &= rows_named(rows, name)
    possible = bits < _ERRORS
    bits[~here & possible] |= _NO_VOLUME
    for position in (here & possible).nonzero()[0].tolist():
        node = rows.table.node_at(int(rows.positions[position]))
        if node is not None:
            bits[position] |= _bits_of_unbound(claims, node)


def _filter_unbound(claims: PodClaims, rows: Rows, bits: _Bits) -> None:
    undecided = bits < _ERRORS
    for satisfied, request in zip(satisfiable_rows(claims.matches, rows), claims.requests, strict=True):
        unsatisfied = undecided & ~satisfied
        if not unsatisfied.any():
            continue
        outcomes = request.outcomes(rows)
        outcomes *= unsatisfied
        bits |= outcomes
        undecided &= outcomes == 0
