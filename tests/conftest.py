"""Settings of the whole test suite."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator

import pytest

from tests.conformance import reporting
from tests.conformance.reporting import pytest_report_teststatus, pytest_terminal_summary  # noqa: F401 - hooks
from tests.profiles import register
from tests.searching import (  # noqa: F401 - hooks
    add_search_option,
    pytest_collection_modifyitems,
    pytest_report_header,
    pytest_runtest_setup,
)

register()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite, here, where pytest looks before it collects."""
    reporting.add_directory_option(parser)
    add_search_option(parser)


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
