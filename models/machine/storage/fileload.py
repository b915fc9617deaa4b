"""A tick of a busy process on a file: the drive's law, bad and wrong blocks it comes across, errors of everything."""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import SECOND
from simcluster.engine.streams import mix, poisson_from_uniform, uniform_at
from simcluster.models.machine.storage.disk import Disk, LoadAnswer
from simcluster.models.machine.storage.drivemodel import BLOCK, SECTORS_A_BLOCK
from simcluster.models.machine.storage.filesystem import FileSystem, StoredFile
from simcluster.models.machine.storage.io import FailedBlocks, IoDemand, IoShare, Latency
from simcluster.models.machine.storage.service import Rates, span_of

#: Sizes of requests when the process does not say.
_RANDOM_BYTES, _SEQUENTIAL_BYTES, _WRITE_BYTES = 4096.0, 131072.0, 4096.0
#: Behind a backlog everybody waits for about the same: the drive changes the order of 32 requests, not of all.
BACKLOG_CV = 0.25
#: A process on a whole disk without a file of its own covers so much of it.
_ANYWHERE = 0.5


class SpoiltBlock(NamedTuple):
    """A 4 KiB block of a file that cannot be read (or else comes back wrong).

    Attributes:
        block: number in the file; sector: the physical sector of the drive.
        bad: it cannot be read; False: it comes back wrong.
        hot: it is one of those to which most accesses go.
    """

    block: int
    sector: int
    bad: bool
    hot: bool


def load_file(system: FileSystem, owner: str, demand: IoDemand) -> IoShare:
    """What a process gets in a tick."""
    found = system.stored(demand.file)
    rates = _rates(system, demand, found)
    write_error = ""
    if system.read_only or system.aborted:
        write_error = "EROFS" if system.read_only else "EIO"
        rates = rates._replace(writes=0.0, fsyncs=0.0)
    got = system.disk.load(f"{system.device}/{owner}", rates, demand.tick_ns)
    if got.dead:
        dead = Latency()
        if rates.writes or rates.fsyncs:
            system.fail_journal(demand.comm, demand.pid)
            write_error = "EIO"
        return IoShare(dead, dead, dead, 0.0, 0.0, demand.tick_ns, read_error="EIO", write_error=write_error)
    if found is not None and rates.writes:
        found.changed_ns = system.sim.now
    failed: tuple[FailedBlocks, ...] = ()
    wrong: tuple[FailedBlocks, ...] = ()
    if found is not None and not system.disk.sectors.flawless and got.served > 0.0:
        _overwrite(system, demand, found)
        failed, wrong = _spoilt_reads(system, demand, found, got)
    answer = got.answer
    return IoShare(
        _later(answer.read, got, demand.tick_ns),
        _later(answer.write, got, demand.tick_ns),
        _later(answer.fsync, got, demand.tick_ns),
        system.disk.utilisation(),
        got.served,
        got.stalled_ns,
        failed,
        wrong,
        "",
        write_error,
    )


def _rates(system: FileSystem, demand: IoDemand, found: StoredFile | None) -> Rates:
    per_second = SECOND / demand.tick_ns
    random_size, sequential_size = _RANDOM_BYTES, _SEQUENTIAL_BYTES
    if demand.read_bytes:
        if not demand.sequential_reads:
            random_size = demand.read_bytes / max(demand.random_reads, 1e-9)
        else:
            rest = max(0.0, demand.read_bytes - demand.random_reads * random_size)
            sequential_size = max(512.0, rest / demand.sequential_reads)
    write_size = demand.write_bytes / demand.writes if demand.writes and demand.write_bytes else _WRITE_BYTES
    span = _ANYWHERE if found is None else span_of(system.disk.model, found.size_bytes)
    return Rates(
        demand.random_reads * per_second,
        random_size,
        demand.sequential_reads * per_second,
        sequential_size,
        demand.writes * per_second,
        write_size,
        demand.fsyncs * per_second,
        span,
        demand.depth,
    )


def _later(latency: Latency, got: LoadAnswer, tick_ns: int) -> Latency:
    """The law of the answers with what stalls and backlog add."""
    if got.delay_ns <= 0.0:
        return latency
    mean = latency.mean_ns + got.delay_ns
    standing = got.stalled_ns / tick_ns * (got.stalled_ns / 2.0)
    behind = max(0.0, got.delay_ns - standing) * BACKLOG_CV
    variance = latency.cv2 * latency.mean_ns * float(latency.mean_ns) + standing * standing + behind * behind
    p99 = latency.p99_ns + round(got.delay_ns)
    if got.stalled_ns * 100 > tick_ns:
        p99 = max(p99, latency.p99_ns + got.stalled_ns)
        share = got.stalled_ns / tick_ns
        variance += share * got.stalled_ns * float(got.stalled_ns) / 3.0
    return Latency(round(mean), variance / (mean * mean), p99)


def spoilt_blocks(system: FileSystem, found: StoredFile) -> list[SpoiltBlock]:
    """Bad and wrong blocks of a file."""
    sectors, shift, place = system.disk.sectors, system.start // SECTORS_A_BLOCK, 0
    key, result = mix(system.disk.key, found.inode), []
    for first, count in found.extents:
        for bad, spots in (
            (True, sectors.bad_in(shift + first, count)),
            (False, sectors.wrong_in(shift + first, count)),
        ):
            for spot in spots:
                block = place + spot - shift - first
                result.append(SpoiltBlock(block, spot, bad, uniform_at(key, block) < found.hot_share))
        place += count
    return result


def _weight(found: StoredFile, blocks: int, hot: bool) -> float:
    """Which share of a file's random reads goes to one block: some of them are hot."""
    if hot:
        return found.hot_weight / max(1.0, blocks * found.hot_share)
    return (1.0 - found.hot_weight) / max(1.0, blocks * (1.0 - found.hot_share))


def _spoilt_reads(
    system: FileSystem, demand: IoDemand, found: StoredFile, got: LoadAnswer
) -> tuple[tuple[FailedBlocks, ...], tuple[FailedBlocks, ...]]:
    disk, blocks = system.disk, max(1, found.blocks)
    random_blocks, sequential_bytes = demand.random_reads, demand.sequential_reads * _SEQUENTIAL_BYTES
    if demand.sequential_reads and demand.read_bytes:
        sequential_bytes = max(0.0, demand.read_bytes - random_blocks * _RANDOM_BYTES)
    elif demand.read_bytes:
        random_blocks = max(random_blocks, demand.read_bytes / BLOCK)
    over = sequential_bytes / BLOCK / blocks
    failed: list[FailedBlocks] = []
    wrong: list[FailedBlocks] = []
    aimed = None if demand.spoilt is None else dict(demand.spoilt)
    for block, spot, bad, hot in spoilt_blocks(system, found):
        random = random_blocks * _weight(found, blocks, hot) if aimed is None else aimed.get(block, 0.0)
        mean = (random + over) * got.served
        count = poisson_from_uniform(mean, uniform_at(mix(disk.key, spot), system.sim.now))
        if not count:
            continue
        if not bad:
            wrong.append(FailedBlocks(demand.file, block * BLOCK, count, got.answer.read.mean_ns))
        elif not failed or not disk.model.rotates:  # a hard disk that retries does nothing else: one sector at a time
            delay = disk.give_up(spot, got.answer.read.mean_ns)
            failed.append(FailedBlocks(demand.file, block * BLOCK, count, delay))
    return tuple(failed), tuple(wrong)


def _overwrite(system: FileSystem, demand: IoDemand, found: StoredFile) -> None:
    """Writes somewhere in the file come across bad blocks, too, and so the drive remaps them."""
    if demand.writes <= 0.0 or system.read_only:
        return
    blocks = max(1, found.blocks)
    written = max(demand.writes, demand.write_bytes / BLOCK)
    for _, spot, _, hot in spoilt_blocks(system, found):
        mean = written * _weight(found, blocks, hot)
        if poisson_from_uniform(mean, uniform_at(mix(system.disk.key, ~spot), system.sim.now)):
            system.disk.sectors.write(spot, 1)


def fsync_ns(disk: Disk, rates: Rates) -> float:
    """How long an fsync of such a load would take now, beside everybody's; nothing is asked of the drive."""
    answer, waiting = disk._respond(rates, disk._active()), disk._work.left_ns / disk.model.channels
    return answer.fsync.mean_ns + waiting
