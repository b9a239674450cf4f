"""Shortages of nodes for a pod, node by node and for many rows at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from schedframe import Code, NodeInfo, NodeTable, Rows, RowVerdicts, Status
from schedframe.api import is_scalar_resource

from .scored import Column
from .usage import left_of, room

ERR_TOO_MANY_PODS: Final = "Too many pods"
STANDARD: Final = ("cpu", "memory", "ephemeral-storage")

Mask = npt.NDArray[np.bool_]

# Shortages of one node as bits: both forms name them alike, and counting them takes no look at each node.
UNRESOLVABLE: Final = 1
PODS: Final = 2
FIRST_RESOURCE: Final = 4
OTHER_BITS: Final = 2
BYTE: Final = 8
WORD: Final = 63
CACHED_NAMES: Final = WORD
"""Resources of a pod up to which its rejections are shared with other pods. With more, which may be thousands
of names that a tenant made up, they are kept as long as the attempt.
"""


def err_insufficient(resource: str) -> str:
    """Return the reason for a shortage of *resource*."""
    return f"Insufficient {resource}"


def is_extended_resource(name: str) -> bool:
    """Return whether *name* is one that vendors make up: it has a domain, and that is not Kubernetes' own."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


@frozen(eq=False)
class Demand:
    """The amounts that a node must have left for a pod, beside room for one more pod.

    A resource of ``delegated`` is left to another plugin on nodes that have none of it.
    """

    amounts: tuple[tuple[str, int], ...]
    """Resource and amount (milli-CPU, bytes, counts), amounts above 0."""
    delegated: frozenset[str] = frozenset()
    names: tuple[str, ...] = field(init=False)
    _standard: int = field(init=False)
    """How many of them are standard resources; these come first."""

    @names.default
    def _names(self) -> tuple[str, ...]:
        return tuple([name for name, _ in self.amounts])

    @_standard.default
    def _count_standard(self) -> int:
        return len([name for name in self.names if name in STANDARD])

    @classmethod
    def of(
        cls,
        requests: Mapping[str, int],
        ignored: Collection[str] = (),
        ignored_groups: Collection[str] = (),
    ) -> Demand:
        """Return the demand of a pod with these requests, without the extended resources that are ignored by
        name or group (the part before the slash).
        """
        amounts = [(name, requests[name]) for name in STANDARD if requests.get(name)]
        if len(amounts) == len(requests):
            return cls(tuple(amounts))
        for name in sorted(requests):
            if not requests[name] or name in STANDARD or not is_scalar_resource(name):
                continue
            by_name = name in ignored or name.partition("/")[0] in ignored_groups
            if not (by_name and is_extended_resource(name)):
                amounts.append((name, requests[name]))
        return cls(tuple(amounts))

    @property
    def extended(self) -> tuple[str, ...]:
        """The demanded resources that a device class may stand for."""
        return tuple([name for name in self.names if name not in STANDARD])

    def delegating(self, resources: frozenset[str]) -> Demand:
        """Return the same demand, leaving *resources* to others on nodes that have none of them."""
        return Demand(self.amounts, resources) if resources else self

    def shortage(self, info: NodeInfo) -> Status | None:
        """Return what is missing on one node, ``None`` if the pod fits; O(resources)."""
        allocatable, requested = info.allocatable, info.requested
        bits = PODS if len(info.pods) >= allocatable.get("pods", 0) else 0
        bit = FIRST_RESOURCE
        for name, amount in self.amounts:
            capacity = allocatable.get(name, 0)
            if amount > capacity - requested.get(name, 0) and (capacity or name not in self.delegated):
                bits |= bit
                if amount > capacity:
                    bits |= UNRESOLVABLE
            bit <<= 1
        return self._status(bits) if bits else None

    def shortages(self, rows: Rows) -> RowVerdicts | None:
        """As :meth:`shortage` for many rows, ``None`` if the pod fits on all; a few passes per resource, and
        none for resources that no node has.
        """
        # Resources that vendors make up are too many for something to be kept about each.
        absent = self._absent(rows.table) if len(self.names) > self._standard else ()
        if not absent:
            bits = self._lacking(rows)
            return None if bits is None else self._verdicts(bits)
        here = [place for place in range(len(self.names)) if place not in absent]
        present = Demand(tuple([self.amounts[place] for place in here]), self.delegated)
        lacking = [place for place in absent if self.names[place] not in self.delegated]
        everywhere = sum([FIRST_RESOURCE << place for place in lacking]) | (UNRESOLVABLE if lacking else 0)
        bits = present._lacking(rows)
        if bits is None and not everywhere:
            return None
        return self._verdicts(np.zeros(len(rows), np.uint8) if bits is None else bits, everywhere, here)

    def _absent(self, table: NodeTable) -> dict[int, None]:
        """Return the places of the resources that no node has, in order."""
        others = enumerate(self.names[self._standard :], self._standard)
        return {place: None for place, name in others if table.is_absent(name)}

    def _lacking(self, rows: Rows) -> npt.NDArray[Any] | None:
        """Return for each of *rows* what it lacks, as bits; ``None`` if the pod fits on all."""
        standard, others = self.names[: self._standard], self.names[self._standard :]
        spare = room(standard, rows)
        if spare is None:
            full = rows.take(rows.table.pod_count) >= rows.take(rows.table.allowed_pods)
            lefts = left_of(self.names, rows)
        elif not others and spare.fits([amount for _, amount in self.amounts]):
            return None
        else:
            full = rows.take(spare.full)
            lefts = [*map(rows.take, spare.left), *left_of(others, rows)]
        if len(rows) and not np.count_nonzero(full) and self._fits(lefts):
            return None
        short: list[Mask] = []
        some = full.copy()
        for (name, amount), left in zip(self.amounts, lefts, strict=True):
            lacking = left < amount
            if name in self.delegated:
                lacking &= rows.take(rows.table.allocatable(name)) != 0
            short.append(lacking)
            some |= lacking
        return self._bits(rows, full, short) if some.any() else None

    def _fits(self, lefts: Sequence[Column]) -> bool:
        """Return whether there is enough everywhere, by a pass less than the full answer takes."""
        return all(int(left.min()) >= amount for (_, amount), left in zip(self.amounts, lefts, strict=True))

    def _bits(self, rows: Rows, full: Mask, short: list[Mask]) -> npt.NDArray[Any]:
        width = len(short) + OTHER_BITS
        dtype = np.uint8 if width <= BYTE else np.int64 if width <= WORD else object
        bits: npt.NDArray[Any] = full.astype(dtype) * PODS
        unresolvable: Any = False
        for i, (name, amount) in enumerate(self.amounts):
            bits |= short[i].astype(dtype) * (FIRST_RESOURCE << i)
            unresolvable |= short[i] & (rows.take(rows.table.allocatable(name)) < amount)
        if unresolvable is not False:
            bits |= unresolvable.astype(dtype)
        return bits

    def _verdicts(
        self, bits: npt.NDArray[Any], everywhere: int = 0, here: Sequence[int] | None = None
    ) -> RowVerdicts:
        """Return verdicts by what each row lacks; *everywhere*: the bits of what all rows lack besides.

        *here*: the places of the resources that *bits* are about, ``None`` for all.
        """
        present, codes = numbered(bits)
        if here is not None:
            present = [_moved(one, here) | everywhere for one in present]
        if everywhere and not codes.all():
            present, codes = [everywhere, *present], codes + 1
        return RowVerdicts(codes, [self._status(one) for one in present])

    def _status(self, bits: int) -> Status:
        if len(self.names) <= CACHED_NAMES:
            return status_of(self.names, bits)
        found = self._statuses.get(bits)
        if found is None:
            found = self._statuses[bits] = new_status(self.names, bits)
        return found

    @cached_property
    def _statuses(self) -> dict[int, Status]:
        """By bits; for pods with more than ``CACHED_NAMES`` resources."""
        return {}


def _moved(bits: int, places: Sequence[int]) -> int:
    """Return *bits* about the resources at *places*, moved to where a demand that has them all has them."""
    moved = bits & (FIRST_RESOURCE - 1)
    for i, place in enumerate(places):
        if bits & (FIRST_RESOURCE << i):
            moved |= FIRST_RESOURCE << place
    return moved


def numbered(bits: npt.NDArray[Any]) -> tuple[list[int], npt.NDArray[np.integer[Any]]]:
    """Return the distinct values above 0, and for each row which of them it has, counted from 1."""
    if bits.dtype == np.uint8:
        present = np.flatnonzero(np.bincount(bits)[1:]) + 1
        number = np.zeros(1 << BYTE, np.int16)
        number[present] = np.arange(1, len(present) + 1)
        return present.tolist(), number.take(bits)
    values, codes = np.unique(bits, return_inverse=True)
    return (values[1:].tolist(), codes) if values[0] == 0 else (values.tolist(), codes + 1)


def new_status(names: tuple[str, ...], bits: int) -> Status:
    """Return the rejection for these shortages of resources with these *names*."""
    short = {ERR_TOO_MANY_PODS: "pods"} if bits & PODS else {}
    short |= {err_insufficient(name): name for i, name in enumerate(names) if bits & (FIRST_RESOURCE << i)}
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if bits & UNRESOLVABLE else Code.UNSCHEDULABLE
    details = {reason: {"resource": resource} for reason, resource in short.items()}
    return Status(code, tuple(short), details=details)


@lru_cache(maxsize=256)
def status_of(names: tuple[str, ...], bits: int) -> Status:
    """As :func:`new_status`, cached."""
    return new_status(names, bits)
