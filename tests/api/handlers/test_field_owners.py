"""Comparing two versions of an object: lists place by place and by keys come to the same."""

from __future__ import annotations

import itertools
from typing import Any

from simcluster.api import managedfields
from simcluster.api.managedfields import Manager, after_update, compare
from simcluster.api.patch.structure import shape_of
from simcluster.api.schema import type_of

POD = type_of("", "v1", "Pod")
STATUS = POD.fields["status"].type if POD is not None else None


def condition(kind: str, status: str) -> dict[str, Any]:
    return {"type": kind, "status": status, "lastProbeTime": None}


def by_keys(left: list[Any], right: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The general way."""
    shape = shape_of(STATUS, "conditions")
    changed: dict[str, Any] = {}
    removed: dict[str, Any] = {}
    parts = managedfields._parts
    managedfields._items_of_both(parts(left, shape), parts(right, shape), changed, removed, False)
    return changed, removed


def test_lists_with_the_same_items_in_the_same_order_are_compared_place_by_place() -> None:
    shape = shape_of(STATUS, "conditions")
    kinds, states = ("Ready", "Initialized"), ("True", "False")
    versions = [
        [condition(kind, status) for kind, status in zip(order, chosen, strict=True)]
        for order in ((), ("Ready",), kinds, kinds[::-1], ("Ready", "Ready"))
        for chosen in itertools.product(states, repeat=len(order))
    ]
    taken = 0
    for left, right in itertools.product(versions, repeat=2):
        changed: dict[str, Any] = {}
        removed: dict[str, Any] = {}
        if managedfields._place_by_place(left, right, shape, changed, removed):
            taken += 1
            assert (changed, removed) == by_keys(left, right)
            assert [item["type"] for item in left] == [item["type"] for item in right]
    assert taken == 1 + 4 + 16 + 16  # none, one, and two different ones in either order


def test_metadata_that_shares_its_parts_is_not_looked_at() -> None:
    labels = {"app": "cart"}
    old = {"metadata": {"name": "a", "labels": labels, "resourceVersion": "1"}, "status": {"phase": "Pending"}}
    new = {"metadata": {"name": "a", "labels": labels, "generation": 2}, "status": {"phase": "Running"}}
    assert compare(old, new, POD).changed == {"f:status": {"f:phase": {}}}
    fresh = {**new, "metadata": {"name": "a", "labels": {"app": "shop"}}}
    assert compare(old, fresh, POD).changed["f:metadata"] == {"f:labels": {"f:app": {}}}
    bare = {**new, "metadata": {"name": "a"}}
    assert compare(old, bare, POD).removed == {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}
    annotated = {**new, "metadata": {"name": "a", "labels": labels, "annotations": {"x": "1"}}}
    assert compare(old, annotated, POD).changed["f:metadata"] == {"f:annotations": {".": {}, "f:x": {}}}


def test_entries_that_cannot_be_read_are_ignored_only_if_the_writer_sent_them() -> None:
    manager = Manager("test", "Update", "v1")
    entries = [managedfields.entry(manager, {"f:data": {}}, "2026-03-02T09:00:00Z")]
    old = {"metadata": {"name": "a", "managedFields": entries}, "data": {"a": "1"}}
    broken = [{**entries[0], "fieldsV1": "nonsense"}]
    new = {"metadata": {"name": "a", "managedFields": broken}, "data": {"a": "1"}}
    schema = type_of("", "v1", "ConfigMap")
    assert after_update(old, new, schema, manager, "2026-03-02T09:00:01Z") == entries
