"""RowMemo: answers of evaluators by row state, for plugins that depend on a row's resources alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from attrs import field

from ..._base.value import record
from .policy import BYTES_AN_ANSWER

T = TypeVar("T")


@record(eq=False)
class RowMemo(Generic[T]):
    """Row state (:meth:`.NodeTable.row_state`) → answer.

    Clusters have machines of few kinds and pods of few sizes, hence many rows are in equal states, and one
    evaluation serves all of them. Full, the memo starts empty again.
    """

    limit: int
    _answers: dict[Any, T] = field(factory=dict)

    def find(self, state: Any, evaluate: Callable[[int], T], row: int) -> T:
        """Return the answer for *row* in *state*: memoised, else evaluated; O(1) but for the evaluation.

        ``None`` as state is not memoised: there are too many resources to compare.
        """
        answer = self._answers.get(state)
        if answer is None:
            answer = evaluate(row)
            if state is not None:
                if len(self._answers) >= self.limit:
                    self._answers.clear()
                self._answers[state] = answer
        return answer

    def clear(self) -> None:
        """Forget all answers."""
        self._answers.clear()

    def nbytes(self, answer: int = 0) -> int:
        """About how much memory this takes, if an answer takes *answer* bytes."""
        return len(self._answers) * (BYTES_AN_ANSWER + answer)
