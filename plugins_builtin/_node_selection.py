"""Node selectors over columns: a requirement is evaluated once for each distinct value of its label."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from schedframe import Rows
from schedframe.api import (
    DOES_NOT_EXIST,
    EXISTS,
    FIELD_NAME,
    IN,
    NOT_IN,
    CompiledNodeSelector,
    CompiledNodeTerm,
    CompiledPreferredTerms,
    RequiredNodeAffinity,
    Requirement,
)

Mask: TypeAlias = npt.NDArray[np.bool_]
"""One truth value per row, shape ``(len(rows),)``."""


def rows_required(required: RequiredNodeAffinity, rows: Rows) -> Mask:
    """Return the rows that a pod's node selector and required affinity accept; as ``required.matches``.

    O(rows) for each requirement.
    """
    requirements = required.labels.requirements
    if requirements is None:
        return np.zeros(len(rows), np.bool_)
    mask = None if required.selector is None else rows_selected(required.selector, rows)
    for requirement in requirements:
        mask = _both(mask, rows_meeting(requirement, rows))
    return np.ones(len(rows), np.bool_) if mask is None else mask


def rows_selected(selector: CompiledNodeSelector, rows: Rows) -> Mask:
    """Return the rows that a term matches; as ``selector.matches``."""
    mask: Mask | None = None
    for term in selector.terms:
        matching = rows_of_term(term, rows)
        mask = matching if mask is None else mask | matching
    return np.zeros(len(rows), np.bool_) if mask is None else mask


def rows_of_term(term: CompiledNodeTerm, rows: Rows) -> Mask:
    """Return the rows that satisfy all requirements of *term*; none if it could not be parsed."""
    if term.errors:
        return np.zeros(len(rows), np.bool_)
    mask: Mask | None = None
    for requirement in term.labels:
        mask = _both(mask, rows_meeting(requirement, rows))
    for requirement in term.fields:
        mask = _both(mask, _rows_with_field(requirement, rows))
    return np.ones(len(rows), np.bool_) if mask is None else mask


def rows_meeting(requirement: Requirement, rows: Rows) -> Mask:
    """Return the rows whose label satisfies *requirement*.

    Sets of values are looked up by code. Gt and Lt parse each distinct value once per column.
    """
    column = rows.table.label(requirement.key)
    operator = requirement.operator
    if operator == IN:
        return column.mask_of(requirement.values, rows.index)
    if operator == NOT_IN:
        return ~column.mask_of(requirement.values, rows.index)
    if operator == EXISTS:
        return column.codes[rows.index] >= 0
    if operator == DOES_NOT_EXIST:
        return column.codes[rows.index] < 0
    answers = column.answers(requirement, requirement.matches_value, False)
    mask: Mask = column.take(answers, rows.index)
    return mask


def rows_named(rows: Rows, name: str) -> Mask:
    """Return the row of node *name*; no row if there is no such node."""
    row = rows.table.live_row(name)
    if row is None:
        return np.zeros(len(rows), np.bool_)
    index = rows.index
    if not isinstance(index, slice):
        equal: Mask = index == row
        return equal
    mask = np.zeros(len(rows), np.bool_)
    if index.start <= row < index.stop:
        mask[row - index.start] = True
    return mask


def add_preferences(scores: npt.NDArray[np.int64], preferred: CompiledPreferredTerms, rows: Rows) -> None:
    """Add to *scores* (aligned with *rows*) the weights of the terms that match; as ``preferred.score``."""
    for weight, term in preferred.terms:
        scores += np.multiply(rows_of_term(term, rows), weight, dtype=np.int64)


def _rows_with_field(requirement: Requirement, rows: Rows) -> Mask:
    """Return the rows whose field satisfies *requirement*; fields but ``metadata.name`` are empty."""
    if requirement.key != FIELD_NAME:
        return np.full(len(rows), requirement.matches_value(""), np.bool_)
    mask = np.zeros(len(rows), np.bool_)
    for name in requirement.values:
        mask |= rows_named(rows, name)
    return mask if requirement.operator == IN else ~mask


def _both(mask: Mask | None, other: Mask) -> Mask:
    return other if mask is None else mask & other
