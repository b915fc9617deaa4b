"""Ways in which a drive is slow without failing, with the magnitudes of field reports.

Sources: Gunawi et al., Fail-Slow at Scale (FAST'18): jitter every few seconds, every read retried, up to four
retries, 100 MB/s to 100 KB/s under vibration, flash from tens of us to multiples of 250 us and 2-3 ms, bad
batches that stall for seconds; Lu et al. (ATC'22): NVMe events of 160 us, the slowest 1 % 22 ms; Lu et al. (Perseus,
FAST'23): constant slowdowns. A stall is a pure function of time, so that nothing has to be remembered or fired.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.machine.storage.drivemodel import DriveModel

#: Largest slowdown that can be asked for: 10 us to 10 s.
_MOST = 1_000_000.0


class SlowMode(NamedTuple):
    """One way of being slow; the fields that are set add up.

    Attributes:
        name: for messages.
        factor: every service takes that many times as long.
        bytes_per_s: transfer rate at most; 0 is no limit.
        read_share, read_ns: that share of the reads takes so much longer.
        tail_share, tail_ns: that share of all requests takes so much longer.
        every_ns, stall_ns: about that often the drive answers nothing for so long.
        on_ns, off_ns: mean length of the times in which the mode is there and not; 0 is always.
    """

    name: str
    factor: float = 1.0
    bytes_per_s: int = 0
    read_share: float = 0.0
    read_ns: int = 0
    tails: tuple[tuple[float, int], ...] = ()
    every_ns: int = 0
    stall_ns: int = 0
    on_ns: int = 0
    off_ns: int = 0


def constant(factor: float = 4.0) -> SlowMode:
    """Everything takes longer."""
    _within("factor", factor, 1.0, _MOST)
    return SlowMode("constant", factor=factor)


def jitter(every_ns: int = 4 * SECOND, stall_ns: int = 800 * MILLISECOND) -> SlowMode:
    """A stall every few seconds."""
    _stall(every_ns, stall_ns)
    return SlowMode("jitter", every_ns=every_ns, stall_ns=stall_ns)


def read_retries(share: float = 1.0, retries: int = 4) -> SlowMode:
    """That share of the reads succeeds only after so many more attempts: a turn each, or 250 us on flash."""
    _within("share", share, 0.0, 1.0)
    _within("retries", retries, 1, 4)
    return SlowMode("read retries", read_share=share, read_ns=-retries)  # the drive's own time, see `on_drive`


def bandwidth(bytes_per_s: int = 100_000) -> SlowMode:
    """The transfer collapses (vibration)."""
    _within("bytes_per_s", bytes_per_s, 1_000, 10_000_000_000)
    return SlowMode("bandwidth", bytes_per_s=bytes_per_s)


def garbage_collection(
    share: float = 0.1, typical_ns: int = 2_500_000, tail_share: float = 0.01, tail_ns: int = 22 * MILLISECOND
) -> SlowMode:
    """Flash whose garbage collector is in the way of that share of the requests; `tail_share` of these far worse."""
    _within("share", share, 0.0, 1.0)
    _within("tail_share", tail_share, 0.0, 1.0)
    _within("typical_ns", typical_ns, 1_000, 10 * SECOND)
    _within("tail_ns", tail_ns, 1_000, 60 * SECOND)
    worst = share * tail_share
    return SlowMode("garbage collection", tails=((share - worst, typical_ns), (worst, tail_ns)))


def bad_batch(every_ns: int = 30 * SECOND, stall_ns: int = 4 * SECOND) -> SlowMode:
    """Firmware of a bad batch: stalls of seconds."""
    _stall(every_ns, stall_ns)
    return SlowMode("bad batch", every_ns=every_ns, stall_ns=stall_ns)


def flaky(mode: SlowMode, on_ns: int = 60 * SECOND, off_ns: int = 300 * SECOND) -> SlowMode:
    """The mode comes and goes: so long on, so long off, on average."""
    _within("on_ns", on_ns, SECOND, 1 << 60)
    _within("off_ns", off_ns, SECOND, 1 << 60)
    return mode._replace(on_ns=on_ns, off_ns=off_ns)


def on_drive(mode: SlowMode, model: DriveModel) -> SlowMode:
    """The mode in a drive of this make. Raises ValueError if such a drive cannot have it."""
    if mode.tails and model.rotates:
        raise ValueError(f"a {model.kind} has no garbage collector")
    if mode.read_ns < 0:
        return mode._replace(read_ns=-mode.read_ns * (model.turn_ns or 250_000))
    return mode


def is_on(mode: SlowMode, key: int, t_ns: int) -> bool:
    """Whether a flaky mode is there at an instant: one interval in every cycle, at a drawn place."""
    if not mode.on_ns:
        return True
    cycle, inside = divmod(t_ns, mode.on_ns + mode.off_ns)
    length = round(mode.on_ns * (0.25 + 1.5 * uniform_at(key, 2 * cycle)))
    begin = mix(key, 2 * cycle + 1) % max(1, mode.on_ns + mode.off_ns - length)
    return begin <= inside < begin + length


def stall_within(mode: SlowMode, key: int, begin_ns: int, end_ns: int) -> tuple[int, int]:
    """First stall that overlaps an interval, as (begin, end); (0, 0) if there is none.

    One stall in every period, at a drawn place, half to one and a half times as long as its mean.
    """
    if not mode.stall_ns:
        return 0, 0
    first, last = begin_ns // mode.every_ns - 1, (end_ns - 1) // mode.every_ns
    for cycle in range(max(0, first), last + 1):
        length = round(mode.stall_ns * (0.5 + uniform_at(key, 3 * cycle)))
        begin = cycle * mode.every_ns + mix(key, 3 * cycle + 1) % mode.every_ns
        if begin < end_ns and begin + length > begin_ns and is_on(mode, key ^ 1, begin):
            return begin, begin + length
    return 0, 0


def _stall(every_ns: int, stall_ns: int) -> None:
    _within("every_ns", every_ns, 100 * MILLISECOND, 1 << 60)
    _within("stall_ns", stall_ns, MILLISECOND, every_ns)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ValueError(f"{name} of {value} is not between {low} and {high}")
