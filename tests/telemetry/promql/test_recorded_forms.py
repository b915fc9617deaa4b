"""Requests as a real Prometheus 3.5 answered them: status, content type, keys and types of the JSON, error texts."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simcluster.telemetry.promql.http import Status, handle
from tests.telemetry.promql.memory import Memory

NOW = 1_795_294_204_000
RECORDING = Path(__file__).parents[2] / "recordings" / "prometheus-3.5.jsonl.xz"
#: What rules answer is compared in tests of rules.
OTHERS = ("prom-rules", "prom-alerts")


@cache
def recorded() -> list[dict[str, Any]]:
    with lzma.open(RECORDING, "rt") as lines:
        return [one for one in map(json.loads, lines) if one["name"] not in OTHERS]


@cache
def store() -> Memory:
    """Three targets, one of them down, their requests, and a recorded rule: what that server had scraped."""
    memory = Memory()
    for job, instance, value in (("down", "127.0.0.1:1", 0.0), ("loki", "127.0.0.1:13100", 1.0), (
        "prometheus", "127.0.0.1:19090", 1.0)):  # fmt: skip
        times = [NOW - 60_327 + 2_000 * k for k in range(32)]
        own = {"namespace": "hotel"} if job == "down" else {}
        memory.add({"__name__": "up", "job": job, "instance": instance, **own}, dict.fromkeys(times, value))
        memory.add({"__name__": "job:up:sum", "job": job}, dict.fromkeys(times, value))
    base = {"job": "prometheus", "instance": "127.0.0.1:19090", "handler": "/metrics"}
    for name, own in (("prometheus_http_requests_total", {"code": "200"}), *(
        ("prometheus_http_request_duration_seconds_bucket", {"le": le}) for le in ("0.1", "1", "+Inf"))):  # fmt: skip
        memory.add({"__name__": name, **base, **own}, {t: float((t - NOW) // 2000 + 40) for t in times})
    return memory


def shape(value: Any, key: str = "") -> Any:
    """Keys and types; elements of lists are alike, labels have any names, a sample is a time and a text."""
    if isinstance(value, dict):
        if key in ("metric", "labels"):
            return f"labels of {sorted({type(each).__name__ for each in value.values()})}"
        names = value if key != "named" else dict.fromkeys(["any"], next(iter(value.values()), None))
        return {name: shape(each, name) for name, each in names.items()}
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], int | float) and isinstance(value[1], str):
            return "sample"
        found = [shape(each) for each in value]
        return [found[0]] if found and all(each == found[0] for each in found) else sorted(map(str, found))
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


@pytest.mark.parametrize("one", recorded(), ids=lambda one: one["name"])
def test_an_answer_has_the_recorded_form(one: dict[str, Any]) -> None:
    path, _, query = one["path"].partition("?")
    metadata = {name: [{"type": "gauge", "help": "x", "unit": ""}] for name in ("up", "a_total")}
    answer = handle((one["method"], path, query, one["body"].encode()), store(), NOW, Status(metadata=metadata))
    assert answer.status == one["status"]
    assert answer.headers["Content-Type"] == one["type"]
    shown = answer.body.decode()
    if "json" not in one["type"]:
        assert shown.strip() == one["answer"].strip()
        return
    mine, theirs = json.loads(shown), json.loads(one["answer"])
    if one["status"] >= 400 or one["name"].endswith(
        ("scalar", "string", "nan", "empty", "absent", "format", "label-bad")
    ):
        assert mine == theirs
    elif one["name"] == "prom-metadata":
        assert shape(list(mine["data"].values())) == shape(list(theirs["data"].values()))
    else:
        assert shape(mine) == shape(theirs)


def test_something_is_compared() -> None:
    assert len(recorded()) >= 28
