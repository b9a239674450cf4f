"""``--explain [POD]``: an option whose value may be left out, which typer does not offer."""

from __future__ import annotations

import os
from collections.abc import Sequence

EXPLAIN = "--explain"
EVERY_PENDING = "*"
"""Instead of a pod's name: explain all that stay pending."""
STDIN = "-"


def with_explain_value(arguments: Sequence[str]) -> list[str]:
    """*arguments* with a value for each bare ``--explain``: the word that follows, or every pending pod.

    A word that is another option, ``-``, or a file or folder that exists, is no pod.
    """
    found: list[str] = []
    words = iter(range(len(arguments)))
    for i in words:
        word = arguments[i]
        if word == "--":
            found += arguments[i:]
            break
        if word != EXPLAIN:
            found.append(word)
            continue
        following = arguments[i + 1] if i + 1 < len(arguments) else None
        if following is None or following.startswith(STDIN) or os.path.exists(following):
            found.append(f"{EXPLAIN}={EVERY_PENDING}")
        else:
            found.append(f"{EXPLAIN}={following}")
            next(words)
    return found
