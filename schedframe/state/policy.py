"""Thresholds of the node table's structures. None changes an answer, only how long it takes."""

from __future__ import annotations

ROW_STATES = 4096
"""Row states that are followed, those without rows included; with more, rows are not grouped by state."""
ROWS_PER_STATE = 2
"""Rows of a state, on average, from which on grouping rows by state pays."""
SAMPLE = 128
"""Rows of the table that are looked at to tell whether grouping pays."""
SUCCESSORS = 64
"""Distinct requests for which a state knows its successor; beyond, they are learned again."""
KEPT_COLUMNS = 32
"""Derived columns of one kind that are kept, the last ones to be read: derived arrays of a table, sums by
domain of a count, answers by label value, columns of rare resources. One of 1,000,000 rows takes 8 MB.
"""
COUNT_BYTES = 128 * 2**20
"""Bytes that count columns, and domains, may take each; the least recently used ones are dropped first."""
COUNT_COLUMNS = 2048
"""Count columns that are kept at most, within COUNT_BYTES; they take 8 MB in a table of 64 rows."""
LABEL_COLUMNS = 256
"""Columns of node labels that are kept; with one more, those that nothing else refers to are dropped. One of
5,000 rows takes 20 to 60 KB, and pods may ask for labels of ever new names.
"""
KEPT_CHANGES = 4096
"""Entries that a log of changes keeps at least; a reader that falls further behind processes everything.
A full log takes 64 KiB.
"""
SPARSE_SHARE = 64
"""Rows that a pass over a column handles in the time that one row takes by itself. Measured with rows that
are sorted or marked in a mask: both take equally long at one row in 100 to 200.
"""
ROWWISE_ROWS = 16
"""Dirty rows that derived arrays compute one by one; columns cost less for more of them."""
PORTION = 1 << 14
"""Rows that are computed at a time: what one pass writes is in the processor cache at the next (128 KiB).
Also the rows of a block of :class:`.RowsByState` at most.
"""
SMALLEST_STATE_BLOCK = 1 << 11
"""Rows of a block of :class:`.RowsByState` at least: a pass over one takes 1 us."""


def state_block_shift(capacity: int) -> int:
    """Power of two of the rows in a block, for a table of that capacity: 16 blocks where sizes allow."""
    width = min(max(SMALLEST_STATE_BLOCK, -(-capacity // 16)), PORTION)
    return (width - 1).bit_length()
