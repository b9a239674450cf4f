"""Tolerations: which members of one go together.

Source of the rules: ``ValidateTolerations`` of pkg/apis/core/validation. Errors about the value have the path
of the operator, which is the field that the API server names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...._base.wording import described
from ....errors import InputError
from ..rules import check_label_value
from .reading import is_left_out, text


def check_toleration(toleration: Mapping[str, Any]) -> Iterator[InputError]:
    """Yield the errors of a toleration."""
    operator, value = text(toleration, "operator"), text(toleration, "value")
    if not text(toleration, "key") and operator != "Exists" and isinstance(toleration.get("key", ""), str):
        written = described(operator) if operator else "no operator"
        fix = "name the key of the taint, or write operator: Exists, which tolerates any key"
        yield InputError("operator", f"there is {written} and no key", fix)
    if not is_left_out(toleration, "tolerationSeconds") and text(toleration, "effect") != "NoExecute":
        effect = text(toleration, "effect") or "no effect"
        fix = "write effect: NoExecute, or leave tolerationSeconds out"
        yield InputError("effect", f"tolerationSeconds count for NoExecute only, and there is {effect}", fix)
    if operator == "Exists" and value:
        fix = "leave the value out, or write operator: Equal"
        yield InputError("operator", f"Exists takes no value, and there is {described(value)}", fix)
    if operator in ("", "Equal") and (error := check_label_value(value)) is not None:
        yield InputError("operator", error.problem, error.fix)
