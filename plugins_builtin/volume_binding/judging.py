"""Can the pod's volumes be used from a node, or be bound or made there? By node and by rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from schedframe import Node, PersistentVolumeClaim, Rows, RowVerdicts, Status

from .._node_selection import rows_named, rows_selected
from .._volumes_csi_nodes import CsiNodes
from .claims import BoundVolume, PodClaims
from .provisioning import Outcome, Provision
from .volumes import Labels, reaches
from .wishes import choose_all, granted

ERR_REASON_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
ERR_REASON_NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
ERR_REASON_NO_SPACE = "node(s) did not have enough free storage"
ERR_REASON_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

_AFFINITY: Final = 1
_NO_VOLUME: Final = int(Outcome.IMPOSSIBLE)
_NO_SPACE: Final = int(Outcome.NO_SPACE)
_MISSING: Final = 8
_ERRORS: Final = 16
"""Beyond these bits: the number of an error among those found."""
_REASONS: Final = (
    (_AFFINITY, ERR_REASON_AFFINITY),
    (_NO_VOLUME, ERR_REASON_NO_VOLUME),
    (_NO_SPACE, ERR_REASON_NO_SPACE),
    (_MISSING, ERR_REASON_MISSING),
)
_STATUSES: Final = tuple(
    Status.unresolvable(*(reason for bit, reason in _REASONS if bits & bit)) for bits in range(1, _ERRORS)
)
"""For each combination of bits, from 1 on: the bits are the codes of verdicts."""

_Bits = npt.NDArray[np.int8]


def _status(bits: int) -> Status:
    return _STATUSES[bits - 1]


def judge_node(claims: PodClaims, node: Node, migrated: frozenset[str]) -> Status | None:
    """Why the pod cannot run on *node*, whose plugins *migrated* are served by CSI drivers."""
    bits = _bits_of_bound(claims.bound, node.labels, migrated)
    if isinstance(bits, Status):
        return bits
    bits |= _bits_of_unbound(claims, node)
    return _status(bits) if bits else None


def _bits_of_bound(volumes: Iterable[BoundVolume], labels: Labels, migrated: frozenset[str]) -> int | Status:
    """The first volume that is in the way counts."""
    for volume in volumes:
        if not volume.there:
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
    if any(name != node.name for name, _ in claims.sent):
        return _NO_VOLUME
    _, provisions = share_out(claims, node.labels)
    for provision in provisions:
        outcome = provision.outcome(node.labels)
        if outcome:
            return outcome
    return 0


def share_out(
    claims: PodClaims, labels: Labels
) -> tuple[list[tuple[PersistentVolumeClaim, str]], list[Provision]]:
    """On a node with these labels: claims with the volumes they get, and the claims to make volumes for."""
    chosen = choose_all(claims.wishes, labels)
    bindings = [
        (wish.claim, name) for wish, name in zip(claims.wishes, chosen, strict=True) if name is not None
    ]
    provisions = [provision for _, provision in claims.sent]
    for provision, name in zip(claims.provisions, chosen, strict=True):
        if name is None:
            provisions.append(provision)
    return bindings, provisions


# ---- by rows ---------------------------------------------------------------------------------------------


def judge_rows(claims: PodClaims, rows: Rows, csi_nodes: CsiNodes) -> RowVerdicts | None:
    """As :func:`judge_node`. O(rows) for each volume or claim; several claims of one class are shared out
    once for each set of labels that matters to them."""
    if claims.all_bound and len(claims.bound) == 1 and claims.bound[0].plugin is None:
        return _judge_one(claims.bound[0], rows)
    bits: _Bits = np.zeros(len(rows), np.int8)
    errors = _judge_bound(claims.bound, rows, csi_nodes, bits)
    if claims.sent:
        _judge_sent(claims, rows, bits)
    elif claims.wishes:
        _judge_wishes(claims, rows, bits)
    highest = int(bits.max(initial=0))
    if not highest:
        return None
    return _numbered(bits, errors) if errors else RowVerdicts(bits, _STATUSES[:highest])


def _numbered(bits: _Bits, errors: list[Status]) -> RowVerdicts:
    """Verdicts with just the statuses that occur."""
    present = np.bincount(bits).nonzero()[0]
    present = present[present > 0]
    code_of = np.zeros(int(present[-1]) + 1, np.int8)
    code_of[present] = np.arange(1, len(present) + 1)
    statuses = [_status(n) if n < _ERRORS else errors[n // _ERRORS - 1] for n in present.tolist()]
    return RowVerdicts(code_of[bits], statuses)


def _judge_one(volume: BoundVolume, rows: Rows) -> RowVerdicts | None:
    """The most frequent case: one bound volume."""
    if not volume.there:
        return RowVerdicts(np.ones(len(rows), np.int8), (_status(_MISSING),))
    if volume.selector is None:
        return None
    accepted = rows_selected(volume.selector, rows)
    return None if accepted.all() else RowVerdicts.where(~accepted, _status(_AFFINITY))


def _judge_bound(
    volumes: Iterable[BoundVolume], rows: Rows, csi_nodes: CsiNodes, bits: _Bits
) -> list[Status]:
    """Sets *bits*; the errors that they number."""
    errors: list[Status] = []
    for volume in volumes:
        if not volume.there:
            bits[bits == 0] = _MISSING
            break
        refused = None if volume.selector is None else ~rows_selected(volume.selector, rows)
        if volume.plugin is not None:
            moved = rows.take(_where_migrated(volume.plugin.name, csi_nodes))
            if volume.migration_error is not None:
                errors.append(volume.migration_error)
                bits[moved & (bits == 0)] = _ERRORS * len(errors)
            else:
                there = volume.migrated_selector
                others = np.zeros(len(rows), np.bool_) if there is None else ~rows_selected(there, rows)
                refused = np.where(moved, others, np.False_ if refused is None else refused)
        if refused is not None:
            bits[refused & (bits == 0)] = _AFFINITY
    return errors


def _where_migrated(plugin: str, csi_nodes: CsiNodes) -> npt.NDArray[np.bool_]:
    csi_nodes.sync()
    has = np.array([plugin in plugins for plugins in csi_nodes.plugins], np.bool_)
    return has[csi_nodes.migrated]


def _judge_sent(claims: PodClaims, rows: Rows, bits: _Bits) -> None:
    """All that counts is the one node that the claims are being provisioned for."""
    here = np.ones(len(rows), np.bool_)
    for name in {name for name, _ in claims.sent}:
        here &= rows_named(rows, name)
    possible = bits < _ERRORS
    bits[~here & possible] |= _NO_VOLUME
    for position in (here & possible).nonzero()[0].tolist():
        node = rows.table.node_at(int(rows.positions[position]))
        if node is not None:
            bits[position] |= _bits_of_unbound(claims, node)


def _judge_wishes(claims: PodClaims, rows: Rows, bits: _Bits) -> None:
    undecided = bits < _ERRORS
    for got, provision in zip(granted(claims.wishes, rows), claims.provisions, strict=True):
        wanting = undecided & ~got
        if not wanting.any():
            continue
        refused = provision.outcomes(rows)
        refused *= wanting
        bits |= refused
        undecided &= refused == 0
