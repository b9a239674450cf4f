"""Every threshold of the equivalence cache, and the table that says which index finds the best row.

No threshold changes a decision, only how long it takes. Unless a line says otherwise they were measured with
``schedframe bench`` on one core at 500 to 50,000 nodes; README.md has the figures.
"""

from __future__ import annotations

from enum import Enum

from ..._base.value import record


class IndexKind(Enum):
    """The structures that answer "which row is best for this class?"."""

    STATE = "state index"
    MATRIX = "score matrix"
    ROWS = "the columns of the class"


@record(frozen=True)
class Policy:
    """Limits of one scheduler. Tests lower them to reach every path in small clusters."""

    # ---- memory ------------------------------------------------------------------------------------------

    classes: int = 4096
    """Classes unless ``remember`` is given: of more, each one finds most rows dirty when it is used. Keys of
    pods that were seen once: twice as many.
    """
    max_bytes: int = 256 * 2**20
    """Bytes of all classes and what they share; beyond, idle classes are evicted."""
    idle_keys: int = 1024
    """Keys of new pods that come while a class is not used, after which it is evicted: its pods are gone."""
    answers: int = 4096
    """Row states whose answers one memo keeps, and statuses of one set of node columns; beyond, they start
    empty again.
    """
    groupings: int = 4
    """Ways to group rows that a class follows at a time; beyond, all are dropped."""

    # ---- when a class is made ----------------------------------------------------------------------------

    eager_classes: int = 16
    """Classes that are made for their first pod; others for the second, as half of all sizes never return."""
    index_only_classes: int = 32
    """Classes with equal node columns that begin with a state index alone; more return too rarely each."""
    retry_after: int = 1000
    """Visits, pods or changed rows after which something that did not pay, or failed, is tried again."""

    # ---- how a class catches up --------------------------------------------------------------------------

    rowwise_rows: int = 48
    """Dirty rows that are evaluated one by one; columns cost less for more of them (some 40 us a pass)."""
    gather_cost: int = 6
    """Cost of gathering one row, in rows that are scanned where they stand in the columns."""

    # ---- passes over all rows ----------------------------------------------------------------------------

    pass_rows: int = 1 << 14
    """Rows of the largest table in which a pass over the scores of all rows finds the best. For a matrix that
    takes 1.4 us at 16,384 rows and 136 us at a million. In a larger table maxima by block are
    maintained: 14,000 instructions more at 500 rows, as many at 5,000, 1 % of a pod less at 12,000.
    """

    # ---- state index -------------------------------------------------------------------------------------

    first_visits: int = 4
    """Pods of a class before it gets a state index, where rows are not grouped by state so far."""
    rows_per_state: int = 64
    """Rows of the table for each state that is evaluated when an index is built; at least rowwise_rows."""
    score_keys: int = 16
    """Distinct node-score keys of a state index; with more, the columns of the class are quicker. Priorities
    with an overlay of nominated pods: as many.
    """
    miss_visits: int = 64
    """Pods of a class that its columns serve after the state index had no answer."""

    # ---- score matrix ------------------------------------------------------------------------------------

    rows_per_class: int = 256
    """Rows of the table for each class that shares node columns, up to which these use a matrix; with more,
    state indexes are quicker (twelve classes that take turns: from 4,500 rows on).
    """
    matrix_min_classes: int = 4
    """Classes for which there is a matrix; fewer are served by state indexes in less time (two classes at 500
    rows: 203,510 instructions a pod against 230,709).
    """
    matrix_max_classes: int = 1024
    """Classes for which there is a matrix, 2 bytes a class and row; later ones get state indexes."""
    pending_rows: int = 2
    """Dirty rows for each slot up to which they are evaluated for all slots, some 30 us each; with more, each
    class evaluates all rows when it is used, 130 us at 500 rows.
    """

    # ---- groups of rows ----------------------------------------------------------------------------------

    groups: int = 32
    """Groups of rows whose best rows are followed; with more, passes over all rows are quicker."""


DEFAULT = Policy()
"""What a scheduler uses that was given nothing else."""

BYTES_A_CLASS = 16_384
"""Bytes of a class beside its arrays, as the byte bound counts them."""
BYTES_AN_ANSWER = 300
"""Bytes of a memoised answer with its row state, as the byte bound counts them."""
BLOCKS = 32
"""Blocks into which an index divides the rows of a table; it keeps so few in lists."""
SMALLEST_BLOCK = 64
"""Rows of a block at least: finding the best row of a smaller one costs no less. A row of a matrix is longer
than the table by as many cells: else the cells of a column would be a power of two apart, and share few lines
of the processor cache.
"""


def block_shift(rows: int) -> int:
    """Power of two of the rows in a block, for a table of *rows* rows."""
    return (max(SMALLEST_BLOCK, -(-max(rows, 1) // BLOCKS)) - 1).bit_length()


def choose_index(policy: Policy, rows: int, classes: int, *, by_state: bool, by_node: bool) -> IndexKind:
    """Return the index that finds the best row of a class; README.md has the table.

    *rows*: of the table; *classes*: that share the node columns; *by_state*: equal resource vectors mean
    equal answers; *by_node*: some node has a score of its own (a preferred taint, an image).
    """
    if not by_state:
        return IndexKind.ROWS
    some = policy.matrix_min_classes <= classes <= policy.matrix_max_classes
    suits = some and not by_node and rows <= min(classes * policy.rows_per_class, policy.pass_rows)
    return IndexKind.MATRIX if suits else IndexKind.STATE
