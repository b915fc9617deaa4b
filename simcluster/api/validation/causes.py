"""Collects causes in the words of k8s.io/apimachinery/pkg/util/validation/field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.api.errors import Cause

Obj = Mapping[str, Any]


class GoText(str):
    """A value already printed as Go's `%#v` does."""

    __slots__ = ()


class Causes(list[Cause]):
    """The causes found so far."""

    def required(self, field: str, detail: str = "") -> None:
        """A value is missing."""
        self._add("FieldValueRequired", "Required value", field, detail)

    def invalid(self, field: str, value: Any, detail: str) -> None:
        """A value is malformed or may not be what it is."""
        self._add("FieldValueInvalid", f"Invalid value: {go_value(value)}", field, detail)

    def not_supported(self, field: str, value: Any, supported: Sequence[str]) -> None:
        """A value is none of a list."""
        names = ", ".join(f'"{name}"' for name in supported)
        self._add(
            "FieldValueNotSupported", f"Unsupported value: {go_value(value)}", field, f"supported values: {names}"
        )

    def duplicate(self, field: str, value: Any, detail: str = "") -> None:
        """A value that must be unique stands twice."""
        self._add("FieldValueDuplicate", f"Duplicate value: {go_value(value)}", field, detail)

    def not_found(self, field: str, value: Any) -> None:
        """A reference within the object leads nowhere."""
        self._add("FieldValueNotFound", f"Not found: {go_value(value)}", field, "")

    def forbidden(self, field: str, detail: str) -> None:
        """A field may not be set, or not be changed."""
        self._add("FieldValueForbidden", "Forbidden", field, detail)

    def too_long(self, field: str, limit: int) -> None:
        """A text has more than `limit` bytes."""
        self._add("FieldValueTooLong", "Too long", field, f"may not be more than {limit} bytes")

    def too_many(self, field: str, number: int, limit: int) -> None:
        """A list has more than `limit` items."""
        self._add("FieldValueTooMany", f"Too many: {number}", field, f"must have at most {limit} items")

    def refused(self, field: str, detail: str) -> None:
        """An invalid value that is not shown."""
        self._add("FieldValueInvalid", "Invalid value", field, detail)

    def _add(self, reason: str, message: str, field: str, detail: str) -> None:
        self.append(Cause(reason, f"{message}: {detail}" if detail else message, field))

    # Rules that many fields share.

    def not_negative(self, field: str, value: int | None) -> None:
        """A number must be 0 or more."""
        if value is not None and value < 0:
            self.invalid(field, value, NOT_NEGATIVE)

    def one_of(self, field: str, value: str | None, supported: Sequence[str], *, required: bool = True) -> None:
        """A text must be one of a list; empty is required or ignored."""
        if value:
            if value not in supported:
                self.not_supported(field, value, supported)
        elif required:
            self.required(field)

    def checked(self, field: str, value: Any, problems: Sequence[str]) -> None:
        """One invalid value for each problem found."""
        for problem in problems:
            self.invalid(field, value, problem)


NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"


def go_value(value: Any) -> str:
    """A value as Go's field errors print it.

    >>> go_value("a"), go_value(3), go_value(None), go_value({"b": "1", "a": "2"})
    ('"a"', '3', 'null', 'map[string]string{"a":"2", "b":"1"}')
    """
    if value is None:
        return "null"
    if isinstance(value, GoText):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return go_map(value)
    if isinstance(value, list):
        return "[]string{" + ", ".join(quoted(str(item)) for item in value) + "}"
    return str(value)


def quoted(text: str) -> str:
    """Go's `%q`."""
    return json.dumps(text, ensure_ascii=False)


def go_map(labels: Mapping[str, Any] | None) -> str:
    """`map[string]string{...}` sorted by key, as Go prints it."""
    if labels is None:
        return "map[string]string(nil)"
    return "map[string]string{" + ", ".join(f"{quoted(k)}:{quoted(str(labels[k]))}" for k in sorted(labels)) + "}"


def go_selector(selector: Obj) -> GoText:
    """A label selector as `%#v` prints it."""
    requirements = selector.get("matchExpressions")
    if requirements is None:
        listed = "[]v1.LabelSelectorRequirement(nil)"
    else:
        inner = ", ".join(
            f"v1.LabelSelectorRequirement{{Key:{quoted(r.get('key', ''))}, Operator:{quoted(r.get('operator', ''))}, "
            f"Values:{go_value(list(r['values'])) if 'values' in r else '[]string(nil)'}}}"
            for r in requirements
        )
        listed = f"[]v1.LabelSelectorRequirement{{{inner}}}"
    return GoText(f"v1.LabelSelector{{MatchLabels:{go_map(selector.get('matchLabels'))}, MatchExpressions:{listed}}}")


def go_int_or_string(value: int | str) -> GoText:
    """An IntOrString as `%#v` prints it."""
    if isinstance(value, int):
        return GoText(f'intstr.IntOrString{{Type:0, IntVal:{value}, StrVal:""}}')
    return GoText(f"intstr.IntOrString{{Type:1, IntVal:0, StrVal:{quoted(value)}}}")
