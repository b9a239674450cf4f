"""Scores in the form in which extenders written in Go encode them, decoded without a dictionary for each."""

from __future__ import annotations

from typing import Annotated, Final

from ..framework import HostPriority

try:
    import msgspec
except ImportError:  # there where schedframe talks to an API server

    def decode_scores(body: bytes) -> list[HostPriority] | None:
        """Return ``None``: there is no fast decoder."""
        return None

else:

    class _Score(msgspec.Struct, forbid_unknown_fields=True):
        Host: str = ""
        Score: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] = 0

    _DECODER: Final = msgspec.json.Decoder(list[_Score])

    def decode_scores(body: bytes) -> list[HostPriority] | None:
        """Return the scores in *body*, ``None`` if it has any other form; O(scores)."""
        try:
            return [HostPriority(each.Host, each.Score) for each in _DECODER.decode(body)]
        except (ValueError, RecursionError):
            return None
