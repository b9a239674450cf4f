"""Every error that schedframe raises on purpose derives from :class:`SchedframeError`."""

from __future__ import annotations


class SchedframeError(Exception):
    """Base of all errors of this library."""


class InputError(SchedframeError, ValueError):
    """A manifest or value that cannot be used.

    ``path`` is the field (``spec.containers[0].resources.requests.cpu``), ``problem`` says what is wrong
    with which value, ``fix`` what to do about it.
    """

    def __init__(self, path: str, problem: str, fix: str = "", *, location: str = "") -> None:
        self.path = path
        self.problem = problem
        self.fix = fix
        self.location = location
        where = ":".join(part for part in (location, path) if part)
        text = f"{where}: {problem}" if where else problem
        super().__init__(f"{text}; {fix}" if fix else text)

    def at(self, prefix: str) -> InputError:
        """The same error one level further out: *prefix* is put before the path."""
        if not self.path:
            path = prefix
        elif self.path.startswith("["):
            path = prefix + self.path
        else:
            path = f"{prefix}.{self.path}" if prefix else self.path
        return InputError(path, self.problem, self.fix, location=self.location)

    def in_location(self, location: str) -> InputError:
        """The same error with the file and document it was found in."""
        return InputError(self.path, self.problem, self.fix, location=location)


class ConfigError(SchedframeError, ValueError):
    """A configuration that is refused; subclasses and ``errors`` tell the stage and the fields."""


class PluginError(SchedframeError):
    """A plugin broke the contract: it cannot be registered, or it answered nonsense."""


class InvariantError(SchedframeError, AssertionError):
    """A structure found itself inconsistent (``check_invariants``); always a bug of this library."""


class ClusterError(SchedframeError):
    """The world outside refused something, or did not answer."""
