"""When garbage is collected in a scheduler that runs."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from schedframe.bench.memory import frozen_heap
from schedframe.cli.garbage import YOUNG_OBJECTS, collection_postponed, exempt_present_objects


@pytest.mark.usefixtures("nothing_exempt")
def test_nothing_is_collected_before_the_start_is_over() -> None:
    thresholds = gc.get_threshold()
    with collection_postponed():
        assert not gc.isenabled()
        exempt_present_objects()
        assert gc.isenabled()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == (YOUNG_OBJECTS, *thresholds[1:])
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("block", [collection_postponed, frozen_heap])
def test_a_program_keeps_its_objects_exempt(block: Callable[[], AbstractContextManager[None]]) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with block():
        gc.freeze()
    assert gc.get_freeze_count() >= frozen > 0


def test_a_start_that_fails_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(RuntimeError), collection_postponed():
        raise RuntimeError
    assert gc.isenabled()
