"""Label and field selectors: parsing, and deciding whether an object is selected."""

from simcluster.api.selectors.fields import FieldTerm, field_value, parse_fields
from simcluster.api.selectors.labels import (
    Requirement,
    Requirements,
    format_selector,
    label_text,
    matches,
    of_label_selector,
    parse_labels,
)
from simcluster.api.selectors.selection import EVERYTHING, Selection, select

__all__ = [
    "EVERYTHING",
    "FieldTerm",
    "Requirement",
    "Requirements",
    "Selection",
    "field_value",
    "format_selector",
    "label_text",
    "matches",
    "of_label_selector",
    "parse_fields",
    "parse_labels",
    "select",
]
