"""The plugins of the reference that schedframe does not deliver yet.

This is the only place that names them. What the runner leaves out of a comparison follows from this list and
from nothing else (see :mod:`tests.conformance.plan`). The list only shrinks; a test keeps it equal to the
catalogue less the installed entry points.
"""

from __future__ import annotations

UNDELIVERED: frozenset[str] = frozenset()
