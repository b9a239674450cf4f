"""``--feature-gates``: the feature gates of a command."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import FeatureGates
from ..errors import InputError


def parsed_gates(texts: Sequence[str]) -> FeatureGates:
    """Return the gates of ``Name=true,Other=false`` texts. Raises :class:`InputError` with all problems."""
    try:
        return FeatureGates.parse(",".join(texts))
    except InputError as error:
        raise error.at("--feature-gates") if len(error.errors) == 1 else error from None
