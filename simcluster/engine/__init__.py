"""The event loop of the simulated world.

Everything that happens in simcluster happens inside one `Simulation`: integer
nanoseconds, one heap of timers (SimPy's), counter-based random streams, a digest of
what was observed, and a fork. Nothing here knows what Kubernetes is.
"""

from simcluster.engine.appendlog import AppendLog
from simcluster.engine.clock import (
    MICROSECOND,
    MILLISECOND,
    MINUTE,
    SECOND,
    format_age,
    format_rfc3339,
    parse_age,
    parse_duration,
    parse_rfc3339,
)
from simcluster.engine.digest import Digest
from simcluster.engine.fork import Flat, FlatDict, FlatList, Parted, Shared, Snapshot, fork
from simcluster.engine.simpyview import NotForkable
from simcluster.engine.simulation import Simulation, Timer
from simcluster.engine.streams import Stream, Streams

__all__ = [
    "MICROSECOND",
    "MILLISECOND",
    "MINUTE",
    "SECOND",
    "AppendLog",
    "Digest",
    "Flat",
    "FlatDict",
    "FlatList",
    "NotForkable",
    "Parted",
    "Shared",
    "Simulation",
    "Snapshot",
    "Stream",
    "Streams",
    "Timer",
    "fork",
    "format_age",
    "format_rfc3339",
    "parse_age",
    "parse_duration",
    "parse_rfc3339",
]
