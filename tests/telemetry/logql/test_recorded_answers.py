"""Requests to a real Loki, and the answers it gave."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from simcluster.telemetry.logql.http import handle
from tests.telemetry.logql.hotel import NOW_NS, store

RECORDING = Path(__file__).parents[2] / "recordings" / "loki.jsonl.xz"
#: Counts that were made, not measured: these are compared too.
COUNTS = (
    "totalBytesProcessed", "totalLinesProcessed", "totalEntriesReturned", "totalPostFilterLines",
    "totalStructuredMetadataBytesProcessed",
)  # fmt: skip
RECORDED = [json.loads(line) for line in lzma.decompress(RECORDING.read_bytes()).splitlines()]
#: A real one reads a chunk to its end and the simulated one stops when it has enough; its index knows nothing of lines
#: that are still in memory.
READS_ON = ("016_loki-range-forward", "034_loki-stats", "010_loki-range-filter-not", "015_loki-range-regex-selector")


def shape(value: Any) -> Any:
    """Keys in their order, and kinds of values."""
    if isinstance(value, dict):
        return [(key, shape(each)) for key, each in value.items()]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def plain(value: Any) -> Any:
    """A list of objects in an order of its own: a real one's is random."""
    return sorted(value, key=lambda each: json.dumps(each, sort_keys=True)) if isinstance(value, list) else value


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: one["name"])
def test_it_is_answered_like_that(one: dict[str, Any]) -> None:
    path, _, text = one["target"].partition("?")
    answer = handle((one["method"], path, text, one["body"].encode()), store(), NOW_NS)
    assert (answer.status, answer.headers["Content-Type"]) == (one["status"], one["type"])
    if not one["type"].startswith("application/json"):
        assert answer.body.decode() == one["answer"]
        return
    mine, theirs = json.loads(answer.body), json.loads(one["answer"])
    assert shape(mine) == shape(theirs)
    assert answer.body.endswith(b"\n") == one["answer"].endswith("\n")
    if not isinstance(theirs.get("data"), dict):
        assert one["name"] in READS_ON or plain(mine["data"]) == plain(theirs["data"])
        return
    assert mine["data"]["result"] == theirs["data"]["result"]
    if one["name"] not in READS_ON:
        ours = mine["data"]["stats"]["summary"]
        assert {key: ours[key] for key in COUNTS} == {key: theirs["data"]["stats"]["summary"][key] for key in COUNTS}


def test_there_are_as_many_as_were_kept() -> None:
    assert len(RECORDED) == 21
