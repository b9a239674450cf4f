"""Options of an embedding: a frozen object, or the same names as keyword arguments."""

from __future__ import annotations

from typing import get_type_hints

import attrs
import pytest

from schedframe import VirtualClock
from schedframe.embed import Embedding, EmbeddingKeywords, EmbeddingOptions, Task, Worker


def test_type_checkers_know_every_option_as_a_keyword() -> None:
    hints = get_type_hints(EmbeddingOptions)
    assert get_type_hints(EmbeddingKeywords) == {
        field.name: hints[field.name] for field in attrs.fields(EmbeddingOptions)
    }


def test_an_object_and_keywords_do_the_same_and_keywords_win() -> None:
    places: list[tuple[str, str]] = []
    clock = VirtualClock()
    options = EmbeddingOptions[Task, Worker](
        on_place=lambda task, worker: places.append((task.key, worker.key)), clock=clock
    )
    workers = [Worker("a", {"cpu": 1})]
    Embedding(workers, [Task("one", {"cpu": 1})], options).run_until_idle()
    other = VirtualClock(1000)
    embedding = Embedding(workers, [Task("two", {"cpu": 1})], options, clock=other)
    embedding.run_until_idle()
    assert places == [("one", "a"), ("two", "a")]
    assert embedding.clock is other
    assert embedding.options.on_place is options.on_place
    assert options.clock is clock


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="on_placed"):
        Embedding(on_placed=print)  # type: ignore[call-arg]  # a misspelt keyword is the test
