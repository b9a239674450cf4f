"""The reference path: one pod in, one decision out, every plugin called for every node."""
