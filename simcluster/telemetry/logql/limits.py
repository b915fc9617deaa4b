"""How fast a Loki takes lines: a limit for all of them, one for each stream, and how many streams there may be.

Token buckets, as golang.org/x/time/rate has them. Values are the defaults of Loki's `limits_config`.
"""

from __future__ import annotations

from simcluster.engine import FlatDict
from simcluster.engine.clock import SECOND, format_rfc3339
from simcluster.telemetry.logql.context import braces
from simcluster.telemetry.logql.units import EPOCH_NS
from simcluster.telemetry.promql.storage import Labels

#: `ingestion_rate_mb` and `ingestion_burst_size_mb`, `per_stream_rate_limit` and its burst, in bytes (a second).
RATE, BURST = 4 << 20, 6 << 20
STREAM_RATE, STREAM_BURST = 3 << 20, 15 << 20
#: `max_global_streams_per_user`.
MAX_STREAMS = 5000
_ASK = "or contact your Loki administrator to see if the limit can be increased"
#: Full buckets of streams need not be remembered; this often they are looked for.
_SWEEP = 1024


class Limits:
    """What may still be taken: for each bucket how full it was, in bytes times nanoseconds, and when."""

    def __init__(self) -> None:
        self._whole = (BURST * SECOND, 0)
        self._streams: dict[Labels, tuple[int, int]] = FlatDict()

    def refusal(self, lines: int, size: int, now_ns: int, *, parts: bool = False) -> str:
        """Why a request is not taken at all; empty if it is, and then it counts.

        Args:
            parts: it stands for several that came one after the other, so that it may be larger than a bucket.
        """
        before = _level(self._whole, RATE, BURST, now_ns)
        level = before - size * SECOND
        if level >= 0 or (parts and before >= min(size, BURST) * SECOND):
            self._whole = (level, now_ns)
            return ""
        return (
            f"Ingestion rate limit exceeded for user fake (limit: {RATE} bytes/sec) while attempting to ingest "
            f"'{lines}' lines totaling '{size}' bytes, reduce log volume {_ASK}"
        )

    def admits(self, labels: Labels, size: int, now_ns: int) -> bool:
        """Whether so much of a stream is taken; then it counts."""
        level = _level(self._streams.get(labels, (STREAM_BURST * SECOND, now_ns)), STREAM_RATE, STREAM_BURST, now_ns)
        if level < min(size, STREAM_BURST) * SECOND:
            return False
        level -= size * SECOND
        if len(self._streams) >= _SWEEP and labels not in self._streams:
            self._sweep(now_ns)
        self._streams[labels] = (level, now_ns)
        return True

    def _sweep(self, now_ns: int) -> None:
        full = STREAM_BURST * SECOND
        for labels, bucket in list(self._streams.items()):
            if _level(bucket, STREAM_RATE, STREAM_BURST, now_ns) >= full:
                del self._streams[labels]


def _level(bucket: tuple[int, int], rate: int, burst: int, now_ns: int) -> int:
    level, at_ns = bucket
    return min(burst * SECOND, level + rate * max(0, now_ns - at_ns))


def stream_refusal(labels: Labels, t_ns: int, size: int, ignored: int, lines: int) -> str:
    """What is said of a stream of whose `lines` so many were ignored; `t_ns` (Unix), `size`: of the first of those."""
    reason = (
        f"Per stream rate limit exceeded (limit: {STREAM_RATE >> 20}MB/sec) while attempting to ingest for stream "
        f"'{braces(labels)}' totaling {size}B, consider splitting a stream via additional labels {_ASK}"
    )
    stamp = format_rfc3339(t_ns - EPOCH_NS, digits=9).replace("T", " ")[:-1] + " +0000 UTC"
    return (
        f"entry with timestamp {stamp} ignored, reason: '{reason}',\n"
        f"user 'fake', total ignored: {ignored} out of {lines} for stream: {braces(labels)}"
    )


def too_many_streams(labels: Labels) -> str:
    """What is said of a stream that would be one too many."""
    return (
        f"Maximum active stream limit exceeded when trying to create stream {braces(labels)}, reduce the number of "
        f"active streams (reduce labels or reduce label values), {_ASK}, user: 'fake'"
    )
