"""Thresholds of the builtin plugins, each between two computations with equal results.

They affect time and memory only.
"""

from __future__ import annotations

from typing import Final

MAX_COMPARED_DOMAINS: Final = 6
"""Domains up to which one comparison of all rows per domain is cheaper than a look-up for each row."""
MAX_LIST_LENGTH: Final = 32
"""Numbers up to which a loop over a Python list is cheaper than calls into NumPy."""
DOMAIN_PREFIX_ROWS: Final = 256
"""Rows that are searched first for a node of each domain; the others only if one is missing."""
MAX_TABULATED_SPREAD: Final = 4096
"""Difference of the highest and the lowest score up to which normalized scores come from a cached table."""
MAX_SCOPES: Final = 16
"""Namespaces of an affinity term beyond which its column considers pods of all namespaces."""
MAX_COMPILED_COUNTERS: Final = 10_000
"""Sets of affinity counters that are compiled before their cache is emptied."""
MAX_INDEXED_SIZES: Final = 8
"""Claim sizes per label for which the number of fitting volumes is indexed; one more empties that index."""
