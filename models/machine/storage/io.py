"""What processes ask of a file system and what they get back, for one operation and for one tick."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND


class IoOutcome(NamedTuple):
    """One operation.

    Attributes:
        delay_ns: how long it takes, internal retries of the drive included.
        error: `EIO`, `ENOSPC`, `EROFS`, `ENOENT`, or empty.
        corrupt: the data came back wrong and nobody said so.
        offset: where in the file the first failing or wrong 4 KiB block lies; -1 if there is none.
    """

    delay_ns: int
    error: str = ""
    corrupt: bool = False
    offset: int = -1


class IoDemand(NamedTuple):
    """What a busy process wants of one file in one tick: counts of requests that reach the device.

    Attributes:
        file: absolute path on the host; empty if the requests go to no particular file.
        random_reads, sequential_reads, writes, fsyncs: counts, fractions allowed.
        read_bytes: of both kinds of reads; 0 means 4 KiB a random one and 128 KiB a sequential one.
        write_bytes: 0 means 4 KiB each.
        tick_ns: length of the tick.
        depth: most requests that the process has outstanding at once.
        spoilt: of a process with a cache of its own, which of the random reads go to blocks that are spoilt: (4 KiB
            block of the file, reads). None: they fall on any block of the file, as often as it is hot.
        comm, pid: for the kernel's lines.
    """

    file: str = ""
    random_reads: float = 0.0
    read_bytes: float = 0.0
    sequential_reads: float = 0.0
    writes: float = 0.0
    write_bytes: float = 0.0
    fsyncs: float = 0.0
    tick_ns: int = SECOND
    depth: int = 128
    comm: str = ""
    pid: int = 0
    spoilt: tuple[tuple[int, float], ...] | None = None


class Latency(NamedTuple):
    """Response time of one request, waiting included: mean, squared coefficient of variation, 99th percentile."""

    mean_ns: int = 0
    cv2: float = 0.0
    p99_ns: int = 0


class FailedBlocks(NamedTuple):
    """Reads of one 4 KiB block of a file in a tick that failed (or came back wrong), and how long each took."""

    file: str
    offset: int
    count: int  # type: ignore[assignment]
    delay_ns: int


class IoShare(NamedTuple):
    """What the device gives a process in a tick.

    Attributes:
        read, write, fsync: response times.
        utilisation: share of time in which the device is busy, with everybody's requests.
        served: share of the offered work it can do.
        stalled_ns: part of the tick in which it answers nothing.
        failed_reads, corrupt_reads: blocks of the file that could not be read, or came back wrong.
        read_error, write_error: what every read, or every write and fsync, of the tick fails with.
    """

    read: Latency
    write: Latency
    fsync: Latency
    utilisation: float = 0.0
    served: float = 1.0
    stalled_ns: int = 0
    failed_reads: tuple[FailedBlocks, ...] = ()
    corrupt_reads: tuple[FailedBlocks, ...] = ()
    read_error: str = ""
    write_error: str = ""
