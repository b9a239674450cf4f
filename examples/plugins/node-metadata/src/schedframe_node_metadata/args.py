"""Arguments: which label or annotation, its format, and which values are better."""

from __future__ import annotations

from typing import Final

from attrs import field, frozen, validators

from .layout import RFC3339, python_format

LABEL, ANNOTATION = "Label", "Annotation"
NUMBER, TIMESTAMP = "Number", "Timestamp"
HIGHEST, LOWEST, NEWEST, OLDEST = "Highest", "Lowest", "Newest", "Oldest"
_STRATEGIES: Final = {NUMBER: (HIGHEST, LOWEST), TIMESTAMP: (NEWEST, OLDEST)}


@frozen
class NodeMetadataArgs:
    """Arguments of NodeMetadata; ``timestamp_format`` is a layout of Go's time package."""

    metadata_key: str = field(validator=validators.min_len(1))
    metadata_source: str = field(validator=validators.in_((LABEL, ANNOTATION)))
    metadata_type: str = field(validator=validators.in_((NUMBER, TIMESTAMP)))
    scoring_strategy: str = field(validator=validators.in_((HIGHEST, LOWEST, NEWEST, OLDEST)))
    timestamp_format: str = RFC3339

    def __attrs_post_init__(self) -> None:
        allowed = _STRATEGIES[self.metadata_type]
        if self.scoring_strategy not in allowed:
            raise ValueError(
                f"'scoring_strategy' must be {' or '.join(allowed)} for a {self.metadata_type}: "
                f"{self.scoring_strategy}"
            )
        try:
            python_format(self.timestamp_format)
        except ValueError as error:
            raise ValueError(f"'timestamp_format' {error}: {self.timestamp_format}") from None
