"""How much of a random test to run: what is right for every change, or for a night."""

from __future__ import annotations

from hypothesis import settings

USUAL_EXAMPLES = 100


def examples(count: int) -> int:
    """*count* examples, times what the present hypothesis profile multiplies the usual number by."""
    return max(1, count * settings().max_examples // USUAL_EXAMPLES)
