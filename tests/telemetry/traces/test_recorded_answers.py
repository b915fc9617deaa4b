"""Requests to a real Jaeger, and the answers it gave."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from simcluster.telemetry.traces.http import handle
from simcluster.telemetry.traces.span import Source, Span
from simcluster.telemetry.traces.store import TraceStore

RECORDING = Path(__file__).parents[2] / "recordings" / "jaeger.jsonl.xz"
RECORDED = [json.loads(line) for line in lzma.decompress(RECORDING.read_bytes()).splitlines()]
NOW_US = 1_795_294_396_330_882


def stored() -> TraceStore:
    """The trace that a recorded answer shows, and services in the order in which the real one named them."""
    by_name = {one["name"]: json.loads(one["answer"]) for one in RECORDED if one["status"] == 200}
    (trace,) = by_name["116_jaeger-traces-by-id"]["data"]
    spans = []
    for span in trace["spans"]:
        process = trace["processes"][span["processID"]]
        source = Source(process["serviceName"], tuple((tag["key"], tag["value"]) for tag in process["tags"]))
        parent = span["references"][0]["spanID"] if span["references"] else ""
        tags = tuple((tag["key"], tag["value"]) for tag in span["tags"])
        spans.append(
            Span(
                span["traceID"], span["spanID"], parent, source, span["operationName"], span["startTime"],
                span["duration"], tags,
            )
        )  # fmt: skip
    store = TraceStore()
    for span in spans:
        store.write(span)
    return store


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: one["name"])
def test_it_is_answered_like_that(one: dict[str, Any]) -> None:
    path, _, query = one["target"].partition("?")
    found = handle((one["method"], path, query), stored(), NOW_US)
    assert (found.status, found.content_type) == (one["status"], one["type"])
    if one["name"] == "095_jaeger-services":  # in the order of a map
        mine, theirs = json.loads(found.body), json.loads(one["answer"])
        assert sorted(mine.pop("data")) == sorted(theirs.pop("data"))
        assert mine == theirs
    else:
        assert found.body == one["answer"]


def test_there_are_as_many_as_were_kept() -> None:
    assert len(RECORDED) == 14
