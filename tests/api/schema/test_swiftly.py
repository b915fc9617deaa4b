"""The straight way of the decoder and the careful one come to the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simcluster.api.resources import BUILT_IN
from simcluster.api.schema import decode, swiftly, type_of
from simcluster.api.schema.decoding import _Refusal, _Walk

scalars: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "a", "100m", "1024Ki", "x1", 0, 1, -3, 2**40, True, False, 1.5, "2026-03-02T09:00:00.5Z", [], {}]
)
KINDS = [("", "v1", "Pod"), ("", "v1", "Event"), ("apps", "v1", "Deployment"), ("coordination.k8s.io", "v1", "Lease")]


def bodies(schema: Any, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of a type, most of their fields right and some wrong."""
    fields = {name: values(field, depth) for name, field in schema.fields.items()}
    keys = st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True)
    return keys.flatmap(lambda chosen: st.fixed_dictionaries({key: fields[key] for key in chosen}))


def values(field: Any, depth: int) -> st.SearchStrategy[Any]:
    if depth <= 0:
        return scalars
    if field.kind == "object":
        return st.deferred(lambda: bodies(field.type, depth - 1)) | scalars
    if field.kind == "list":
        return st.lists(values(field.item, depth - 1), max_size=2) | scalars
    if field.kind == "map":
        return st.dictionaries(st.sampled_from(("k", "l")), values(field.item, depth - 1), max_size=2) | scalars
    right = {"string": "text", "integer": 7, "boolean": True, "quantity": "1500m", "time": "2026-03-02T09:00:00Z"}
    return st.just(right.get(field.kind)) | scalars


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data(), kind=st.sampled_from(KINDS))
def test_both_ways_agree(data: st.DataObject, kind: tuple[str, str, str]) -> None:
    schema = type_of(*kind)
    assert schema is not None
    body = data.draw(bodies(schema, 5))
    walk = _Walk(schema)
    try:
        careful = walk.struct_value(body, schema, "")
    except _Refusal:
        walk.error = "refused"
    try:
        straight = swiftly.read(body, schema)
    except swiftly.Strange:
        return
    assert walk.error is None
    assert walk.unknown == []
    assert straight == careful
    assert repr(straight) == repr(careful)


def test_what_components_write_goes_straight() -> None:
    pod = {
        "metadata": {"name": "a", "labels": {"app": "x"}, "creationTimestamp": None},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "nginx",
                    "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "0.1"}},
                    "livenessProbe": {"httpGet": {"path": "/", "port": "web"}},
                }
            ]
        },
        "status": {"startTime": "2026-03-02T09:00:00Z"},
    }
    schema = type_of("", "v1", "Pod")
    assert schema is not None
    assert swiftly.read(pod, schema) == decode(BUILT_IN.by_name["pods"], pod).object
    assert swiftly.read(pod, schema)["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "100m"
