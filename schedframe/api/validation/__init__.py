"""Checks of manifests that the API server makes with ``fieldValidation=Strict``, and some of its validation.

Unknown fields, wrong types, values outside an enumeration, names of resources and objects. The fields are
those that Kubernetes publishes (``fields.json``, loaded at the first check); :mod:`.rules` has what the
published API does not say. See ``docs/_tools/published_fields.py``.
"""

from __future__ import annotations

from .checks import problems_of

__all__ = ["problems_of"]
