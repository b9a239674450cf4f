"""Settings of the whole test suite."""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Iterator

import pytest

from schedframe.cli.garbage import exempt_present_objects
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


def pytest_collection() -> None:
    """Put off the collection of garbage: what is imported and listed now stays until the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave all that out of the collections to come, each of which would take half a second."""
    gc.collect()
    exempt_present_objects()


@pytest.fixture
def nothing_exempt() -> Iterator[None]:
    """The collector as a program finds it."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the processes that tests start share compiled modules where Python is to write none into the tree.

    Else each command compiles, for a third of its time, what the one before has compiled.
    """
    with pytest.MonkeyPatch.context() as environment:
        if "PYTHONDONTWRITEBYTECODE" in os.environ:
            base = tmp_path_factory.getbasetemp()
            shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
            environment.delenv("PYTHONDONTWRITEBYTECODE")
            environment.setenv("PYTHONPYCACHEPREFIX", str(shared / "compiled"))
        yield


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
