"""`--sort-by`: order by a field, numbers and quantities by value, other texts by their characters.

Source: k8s.io/kubectl/pkg/cmd/get/sorter.go. Equal elements keep their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from simcluster.api import quantity
from simcluster.api.objects import Json
from simcluster.surface.kubectl.errors import KubectlError, plain
from simcluster.surface.kubectl.printers.jsonpath import JsonPathError, parse, relaxed

_Item = TypeVar("_Item")


class NoSuchField(KubectlError):
    """No object has the field to sort by."""


def sort_by(items: Sequence[_Item], field: str, object_of: Callable[[_Item], Json]) -> list[_Item]:
    """The items ordered by a field of their objects.

    Raises:
        KubectlError: the path is wrong, or no object has the field.
    """
    try:
        path = parse(relaxed(field))
    except JsonPathError as error:
        raise plain(str(error)) from None
    keyed: list[tuple[Any, _Item]] = []
    for item in items:
        try:
            values = path.find(object_of(item))
        except JsonPathError:
            values = []
        keyed.append((values[0] if values else None, item))
    if keyed and all(value is None for value, _ in keyed):
        raise NoSuchField(f'error: couldn\'t find any field with path "{path.source}" in the list of objects')
    return [item for _, item in sorted(keyed, key=functools.cmp_to_key(_compare_pairs))]


def _compare_pairs(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
    return compare(a[0], b[0])


def compare(a: Any, b: Any) -> int:
    """Negative if `a` comes first; missing values come first."""
    if a is None or b is None:
        return (a is not None) - (b is not None)
    if isinstance(a, str) and isinstance(b, str):
        left, right = _quantity(a), _quantity(b)
        if left is not None and right is not None:
            return (left > right) - (left < right)
        return (a > b) - (a < b)
    try:
        return int(a > b) - int(a < b)
    except TypeError:
        return 0


def _quantity(text: str) -> int | None:
    if not text[:1].isdigit():
        return None
    try:
        return quantity.parse(text).nano
    except quantity.QuantityError:
        return None
