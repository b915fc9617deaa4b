"""Results as the JSON of Loki's API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simcluster.telemetry.logql.context import Context
from simcluster.telemetry.logql.entry import METADATA_BYTES
from simcluster.telemetry.logql.evaluation import Result
from simcluster.telemetry.promql import text
from simcluster.telemetry.promql.answers import Answer, Raw, answer, encoded
from simcluster.telemetry.promql.storage import Labels

JSON = "application/json; charset=UTF-8"
#: Seconds that a query of a few streams took when answers were recorded. Time is simulated, so every query says this.
EXECUTION_SECONDS = 0.004
_CHUNK = (
    "headChunkBytes", "headChunkLines", "decompressedBytes", "decompressedLines", "compressedBytes", "totalDuplicates",
    "postFilterLines", "headChunkStructuredMetadataBytes", "decompressedStructuredMetadataBytes",
)  # fmt: skip
_OBJECTS = (
    "prePredicateDecompressedRows", "prePredicateDecompressedBytes", "prePredicateDecompressedStructuredMetadataBytes",
    "postPredicateRows", "postPredicateDecompressedBytes", "postPredicateStructuredMetadataBytes", "postFilterRows",
    "pagesScanned", "pagesDownloaded", "pagesDownloadedBytes", "pageBatches", "totalRowsAvailable",
    "totalPageDownloadTime", "wireBytesTransferred",
)  # fmt: skip
_CACHES = (
    "chunk", "index", "result", "statsResult", "volumeResult", "seriesResult", "labelResult", "instantMetricResult",
    "logResult", "taskResult",
)  # fmt: skip
_CACHE = (
    "entriesFound", "entriesRequested", "entriesStored", "bytesReceived", "bytesSent", "requests", "downloadTime",
    "queryLengthServed",
)  # fmt: skip


def success(data: Any) -> Answer:
    """`status: success`, in the spelling of what Loki answers itself."""
    return answer(200, encoded({"status": "success", "data": data}) + "\n", JSON)


def result(found: Result) -> Answer:
    """`resultType`, `result` and `stats` of a query; only lines end in a newline."""
    if found.kind == "streams":
        listed = [(labels, [[str(t_ns), line] for t_ns, line in lines]) for labels, lines in found.streams]
        inside: Any = [{"stream": dict(labels), "values": values} for labels, values in listed]
        returned = sum(len(values) for _, values in listed)  # integers
    else:
        inside = _values(found)
        returned = len(found.series)
    body = {"resultType": found.kind, "result": inside, "stats": statistics(found.context, returned)}
    end = "\n" if found.kind == "streams" else ""
    return answer(200, encoded({"status": "success", "data": body}) + end, JSON)


def vector(rows: Sequence[tuple[Labels, int]], t_ns: int) -> Answer:
    """Whole numbers at an instant, as `index/volume` has them."""
    stamp = _stamp(t_ns)
    return _whole("vector", [{"metric": dict(labels), "value": [stamp, str(value)]} for labels, value in rows])


def matrix(rows: Sequence[tuple[Labels, Sequence[tuple[int, int]]]]) -> Answer:
    """Whole numbers by instants, as `index/volume_range` has them."""
    shown = [(dict(labels), [[_stamp(t_ns), str(value)] for t_ns, value in points]) for labels, points in rows]
    return _whole("matrix", [{"metric": labels, "values": points} for labels, points in shown])


def _whole(kind: str, inside: list[Any]) -> Answer:
    stats = statistics(None, len(inside))
    data = {"resultType": kind, "result": inside, "stats": stats}
    return answer(200, encoded({"status": "success", "data": data}), JSON)


def _stamp(t_ns: int) -> Raw:
    return Raw(text.timestamp(t_ns // 1_000_000))


def _values(found: Result) -> Any:
    stamps = [_stamp(step) for step in found.steps]
    if found.kind == "scalar":
        return [stamps[0], text.sample(found.series[0][1][0] or 0.0)]
    shown = []
    for labels, row in found.series:
        points = [[stamp, text.sample(value)] for stamp, value in zip(stamps, row, strict=True) if value is not None]
        if points:
            rest = {"value": points[0]} if found.kind == "vector" else {"values": points}
            shown.append({"metric": dict(labels), **rest})
    return shown


def statistics(context: Context | None, returned: int) -> dict[str, Any]:
    """`stats`: what was read of the ingester, where all lines are; nothing was read for an answer from the index."""
    lines, size, passed = (context.lines, context.size_bytes, context.passed) if context is not None else (0, 0, 0)
    summary = {
        "bytesProcessedPerSecond": int(size / EXECUTION_SECONDS),
        "linesProcessedPerSecond": int(lines / EXECUTION_SECONDS),
        "totalBytesProcessed": size,
        "totalLinesProcessed": lines,
        "execTime": EXECUTION_SECONDS,
        "queueTime": 0,
        "subqueries": 0,
        "totalEntriesReturned": returned,
        "splits": 0 if context is not None else 1,
        "shards": 1 if context is not None else 0,
        "totalPostFilterLines": passed,
        "totalStructuredMetadataBytesProcessed": lines * METADATA_BYTES,
    }
    head = {"headChunkBytes": size, "headChunkLines": lines, "postFilterLines": passed}
    head["headChunkStructuredMetadataBytes"] = lines * METADATA_BYTES
    matched = context.streams if context is not None else 0
    ingester: dict[str, Any] = {
        "totalReached": 1 if context is not None else 0,
        "totalChunksMatched": matched,
        "totalBatches": 1 if context is not None else 0,
        "totalLinesSent": passed,
        "store": _store(head),
    }
    if context is not None:
        ingester["recvWaitTime"] = 0
    index = {"totalChunks": 0, "postFilterChunks": 0, "shardsDuration": 0, "usedBloomFilters": False}
    return {
        "summary": summary,
        "querier": {"store": _store({}), "querierExecTime": EXECUTION_SECONDS if context is not None else 0},
        "ingester": ingester,
        "cache": {kind: dict.fromkeys(_CACHE, 0) for kind in _CACHES},
        "index": {**index, "totalStreams": 0, "chunkRefsLookupTime": 0, "bloomFilterTime": 0},
    }


def _store(chunk: dict[str, int]) -> dict[str, Any]:
    return {
        "totalChunksRef": 0,
        "totalChunksDownloaded": 0,
        "chunksDownloadTime": 0,
        "queryReferencedStructuredMetadata": False,
        "queryUsedV2Engine": False,
        "chunk": {name: chunk.get(name, 0) for name in _CHUNK},
        "chunkRefsFetchTime": 0,
        "congestionControlLatency": 0,
        "pipelineWrapperFilteredLines": 0,
        "dataobj": dict.fromkeys(_OBJECTS, 0),
    }
