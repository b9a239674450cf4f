"""A search for a given time: ``pytest -m hypothesis --hypothesis-profile search --search-seconds 60``.

The tests run in an order drawn from the seed of hypothesis, so that each run begins elsewhere; those that
the time does not reach are skipped. The report's head says how to repeat the run.
"""

from __future__ import annotations

from random import Random
from time import monotonic

import pytest

_END = pytest.StashKey[float]()


def add_search_option(parser: pytest.Parser) -> None:
    """Add the option that limits the time."""
    parser.addoption(
        "--search-seconds", type=float, metavar="SECONDS", help="begin no further test after so long"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which run this is."""
    seconds, seed = config.getoption("--search-seconds"), _seed(config)
    return None if seconds is None else f"search: {seconds:g} s, --hypothesis-seed={seed}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Shuffle the tests, and begin to count the time."""
    seconds = config.getoption("--search-seconds")
    if seconds is not None:
        Random(_seed(config)).shuffle(items)
        config.stash[_END] = monotonic() + seconds


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what the time does not reach."""
    if monotonic() > item.config.stash.get(_END, float("inf")):
        pytest.skip("the time of the search is over")


def _seed(config: pytest.Config) -> str:
    return str(config.getoption("--hypothesis-seed"))
