"""Settings of the whole test suite."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.conformance.reporting import (  # noqa: F401 - hooks must live where pytest looks before collection
    pytest_addoption,
    pytest_report_teststatus,
    pytest_terminal_summary,
)

# Nothing here may depend on the speed of the machine or on chance: a change is tested with the same examples
# before and after it is merged. Long runs with other seeds find new ones.
settings.register_profile(
    "schedframe", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# For runs that may take long: pytest --hypothesis-profile nightly
settings.register_profile(
    "nightly",
    settings.get_profile("schedframe"),
    derandomize=False,
    max_examples=2000,
    stateful_step_count=100,
)
settings.load_profile("schedframe")


@pytest.fixture(autouse=True, scope="session")
def _interrupt() -> None:
    """Let Ctrl-C raise: a shell starts what it runs in the background with the signal ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _logger() -> Iterator[None]:
    """Restore the logger: a command that runs in this process makes it write to a stream of its test."""
    logger = logging.getLogger("schedframe")
    before = logger.handlers, logger.propagate, logger.level
    yield
    logger.handlers, logger.propagate, logger.level = before
