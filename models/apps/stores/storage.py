"""How a store works on its data: pages through a cache, changes through a log, checkpoints.

Once a tick it is told how many operations of each kind there were. From what the cache holds follow the
pages that must be read, from the changes the bytes of log and its fsyncs, from time and log the
checkpoints; the file system says how long each of these takes and which blocks fail. The
result is what an operation waits on average, and what went wrong.

Nothing happens between ticks, and nothing in a tick without operations once the last checkpoint is done.
Left out: read-ahead, single indexes, versions of rows that nobody sees any more (vacuum, history store).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.stores.contents import Contents, Database
from simcluster.models.apps.stores.demand import DataSet, IoModel
from simcluster.models.apps.stores.folder import IDEAL, DataFolder
from simcluster.models.apps.stores.lostpages import LostPages
from simcluster.models.apps.stores.pagecache import PageCache
from simcluster.models.machine.storage import IoDemand, IoShare

#: A file grows in steps of so many bytes.
GROWTH_STEP = 1 << 20
#: Changed pages in the cache from which on operations must help to write them (WiredTiger: eviction_dirty_trigger).
DIRTY_TRIGGER = 0.2
#: Reads of a store that makes fewer than `MANY` in a tick are put to the disk every other second: an operation makes
#: them one after the other, so that as a crowd of one tick they would wait for each other as they never do.
MANY, SPARSE_NS = 20.0, 2 * SECOND
#: A recovery looks at so many of the pages it changes one by one; the others take as long on average.
SAMPLED_PAGES = 24
#: A durable operation waits for the write that is under way (half of one on average) and then for its own.
COMMIT_WAITS = 1.5


class Rules(NamedTuple):
    """How one kind of store keeps its data.

    Attributes:
        page: bytes read at once; `record`: bytes of log around a change.
        journal_ns: the log is flushed so often even if nobody waits; 0: only for those who wait.
        durable: whether an operation waits for the log unless it says otherwise.
        checkpoint_ns, checkpoint_log: a checkpoint comes after so long, or after so many bytes of log.
        spread_ns: over which it writes its pages; 0 is at once.
        depth: requests that it keeps outstanding at the disk.
    """

    page: int
    record: int
    journal_ns: int
    durable: bool
    checkpoint_ns: int
    checkpoint_log: int
    spread_ns: int
    depth: int


class Cost(NamedTuple):
    """What an operation meets besides its CPU: mean wait and its variance; the share that fails on blocks."""

    wait_ns: float
    variance: float
    failing: float


#: Of an operation that nobody asked for in a tick.
FREE = Cost(0.0, 0.0, 0.0)


class Trouble(NamedTuple):
    """Something that went wrong in a tick.

    Attributes:
        kind: `read` (a block cannot be read), `corrupt`, `log` (the log cannot be written), `write`, `grow`.
        database: whose file; "" for the log.
        error: `EIO`, `ENOSPC`, `EROFS`; offset: of the block in the file, reads: how many met it.
        delay_ns: so long after the tick the process hears of it (the drive tries again and again).
    """

    kind: str
    database: str
    error: str
    offset: int = 0
    reads: int = 0
    delay_ns: int = 0


class Checkpoint(NamedTuple):
    """A checkpoint that is complete."""

    begun_ns: int
    bytes: float
    write_ns: int
    sync_ns: int
    log_bytes: int
    timed: bool


class _Tick:
    """What one tick asks of the disk."""

    def __init__(self, operations: int) -> None:
        self.reads: dict[str, float] = {}  # by database: pages
        self.scans: dict[str, float] = {}  # bytes
        self.writes: dict[str, float] = {}  # bytes of pages
        self.misses = [0.0] * operations  # by operation, per request
        self.scanned = [0.0] * operations
        self.log_bytes = 0.0
        self.waiting = 0.0  # operations that wait for the log
        self.followed: dict[str, LostPages] = {}  # by database
        self.changes = 0.0


class Storage:
    """The storage engine of one running store.

    Attributes:
        folder, contents, cache, rules: what it works with.
        default: the database of operations that name none.
        troubles: of the last tick; `finished` checkpoints likewise.
        share: the disk's answers of the last tick, by file; `busy`: whether anything is left to write.
    """

    def __init__(
        self, folder: DataFolder, contents: Contents, cache: PageCache, rules: Rules, operations: Sequence[IoModel]
    ) -> None:
        self.folder = folder
        self.contents = contents
        self.cache = cache
        self.rules = rules
        self.operations = tuple(operations)
        self.described: dict[str, DataSet] = {}
        self.troubles: list[Trouble] = []
        self.finished: list[Checkpoint] = []
        self.shares: dict[str, IoShare] = {}
        self.totals: dict[str, float] = dict.fromkeys(("reads", "writes", "log_bytes", "fsyncs", "checkpoints"), 0.0)
        self.default = next(iter(contents.databases), "test")
        self.verifies = True  # whether pages carry checksums
        self._open: dict[str, None] = {}
        self._lost: dict[str, LostPages] = {}
        self._pending: dict[str, float] = {}  # by database: reads that the disk has not been asked for yet
        self._due_ns: dict[str, int] = {}
        self._latest: dict[str, IoShare] = {}
        self._unlogged = (0.0, 0.0, 0.0)  # bytes, waiting operations and changes that came while the log was written
        self._logged_ns = 0  # the write of the log that is under way ends
        self._last_ns = contents.checkpoint_ns
        self._timed = True
        self._rate: dict[str, float] = {}
        self._begun_ns = -1  # a checkpoint that is being written
        self._left: dict[str, float] = {}
        self._written = 0.0
        self._log_before = 0

    @property
    def busy(self) -> bool:
        """Whether changes wait to be written, or the disk was slow or failing a moment ago."""
        waiting = bool(self._left) or bool(self._pending) or self._unlogged[0] > 0.0 or self.contents.log_bytes > 0
        return waiting or bool(self.shares) or bool(self.troubles)

    @property
    def checkpointing(self) -> bool:
        """Whether a checkpoint is being written."""
        return self._begun_ns >= 0

    def file_of(self, database: Database) -> str:
        """Name of the file of a database, below the data folder."""
        raise TypeError("a storage engine names its files")

    def log_file(self) -> str:
        """Name of the log's present file."""
        raise TypeError("a storage engine names its files")

    def log_step(self) -> int:
        """Bytes of one log file."""
        return 100 << 20

    def recovered(self) -> list[tuple[str, int, int]]:
        """What a recovery reads: (file, offset, bytes) of the log since the last checkpoint and of pages it changes."""
        contents, step, page = self.contents, self.log_step(), self.rules.page
        end = contents.position % step
        begin = max(0, end - contents.log_bytes)
        found = [(self.log_file(), begin, max(page, end - begin))]
        for database in contents.databases.values():
            name, pages = self.file_of(database), max(1, database.size // page)
            files = self.folder.files
            if files is not None and not files.exists(self.folder.file(name)):
                continue
            changed = min(pages, SAMPLED_PAGES, contents.log_bytes // max(1, database.described.document))
            for number in range(changed):
                spot = int(uniform_at(mix(mix(contents.key, contents.position), database.number), number) * pages)
                found.append((name, spot * page, page))
        return found

    def work(self, now_ns: int, tick_ns: int, counts: Sequence[int]) -> list[Cost]:
        """A tick of operations; what each kind of them meets."""
        self.troubles, self.finished = [], []
        tick = _Tick(len(counts))
        for index, count in enumerate(counts):
            if count:
                self._touch(tick, index, count, tick_ns)
        self._flush(tick, now_ns, tick_ns)
        spans = self._gather(tick, now_ns, tick_ns)
        shares = {name: self._files(name, tick, spans.get(name, tick_ns)) for name in self._named(tick)}
        log = self._log(tick, now_ns, tick_ns)
        self.shares = {**shares, **({"": log} if tick.log_bytes or tick.waiting else {})}
        self._latest.update(shares)
        for name, share in shares.items():
            self._judge(name, share, tick)
        return [self._cost(index, tick, log) if count else FREE for index, count in enumerate(counts)]

    # --- operations -----------------------------------------------------------------------

    def _touch(self, tick: _Tick, index: int, count: int, tick_ns: int) -> None:
        """Operations of one kind go through the cache."""
        io = self.operations[index]
        database = self.open(io.data or self.default)
        seconds = tick_ns / SECOND
        hot, rest = self._classes(database)
        warm = database.described.hot_share if io.hot is None else io.hot
        touched = count * (io.reads + io.writes)
        missed = 0.0
        if database.name not in tick.followed:
            tick.followed[database.name] = self._follow(database, hot, rest)
        lost = tick.followed[database.name]
        for name, share in ((hot, warm), (rest, 1.0 - warm)):
            missed += self.cache.access(name, touched * share, seconds)
            if lost:
                failing = touched * share * self.cache.classes[name].lost / max(1.0, self.cache.classes[name].size)
                lost.reads[name] = lost.reads.get(name, 0.0) + failing
            if io.writes:
                self.cache.change(name, count * io.writes * share)
        tick.misses[index] = missed / count
        tick.reads[database.name] = tick.reads.get(database.name, 0.0) + missed
        if io.scan:
            scanned = self.cache.scan(rest, float(count * io.scan))
            tick.scanned[index] = scanned / count
            tick.scans[database.name] = tick.scans.get(database.name, 0.0) + scanned
        if io.writes:
            tick.log_bytes += count * io.writes * (database.described.document + self.rules.record)
            tick.changes += count
            if self.rules.durable if io.durable is None else io.durable:
                tick.waiting += count
        if io.grow:
            self._grow(database, count * io.grow)

    def _follow(self, database: Database, hot: str, rest: str) -> LostPages:
        """Which of the database's pages cannot be held by the cache."""
        lost = self._lost.get(database.name)
        if lost is None:
            lost = self._lost[database.name] = LostPages(self.rules.page, database.number)
        spoilt = self.folder.spoilt(self.file_of(database))
        if spoilt or lost:
            lost.follow(spoilt, self.cache, hot, rest)
        return lost

    def open(self, name: str) -> Database:
        """A database, its file made at the first use."""
        database = self.contents.databases.get(name)
        if database is None:
            database = self.contents.database(name, self._described(name))
        if name not in self._open:
            self._open[name] = None
            error = self.folder.allocate(self.file_of(database), database.size)
            if error:
                self.troubles.append(Trouble("grow", name, error))
            self._heat(database)
        return database

    def _described(self, name: str) -> DataSet:
        """What a database begins with."""
        described = self.described.get(name) or DataSet(size=1 << 20)
        if described.fresh is None or self.folder.restored(name):
            return described
        return described.model_copy(update={"size": described.fresh, "hot": min(described.hot, described.fresh)})

    def _heat(self, database: Database) -> None:
        files, size = self.folder.files, database.size
        path = self.folder.file(self.file_of(database))
        if files is not None and size and files.exists(path):
            share = min(1.0, max(1e-6, database.hot / size))
            files.heat(path, share, database.described.hot_share)

    def _classes(self, database: Database) -> tuple[str, str]:
        hot, rest = f"{database.name}/hot", f"{database.name}/rest"
        known = self.cache.classes.get(hot)
        if known is None or known.size != database.hot:
            self.cache.resize(hot, float(database.hot))
            self.cache.resize(rest, float(max(0, database.size - database.hot)))
        return hot, rest

    def _grow(self, database: Database, added: int) -> None:
        steps = (database.size + added) // GROWTH_STEP - database.size // GROWTH_STEP
        if steps:
            error = self.folder.allocate(self.file_of(database), database.size + added + GROWTH_STEP)
            if error:
                self.troubles.append(Trouble("grow", database.name, error, database.size))
                return
        database.size += added
        database.grown += added

    # --- writing back ---------------------------------------------------------------------

    def _flush(self, tick: _Tick, now_ns: int, tick_ns: int) -> None:
        """Pages that are written in this tick: evicted ones, and those of a checkpoint."""
        before = {name: c.changed for name, c in self.cache.classes.items()}
        if self.cache.evict() > 0.0:
            for name, value in before.items():
                self._add(tick.writes, name, value - self.cache.classes[name].changed)
        if self._begun_ns < 0 and self.contents.log_bytes > 0:
            aged = now_ns - self._last_ns >= self.rules.checkpoint_ns
            if aged or self.contents.log_bytes >= self.rules.checkpoint_log:
                self._begin(now_ns, aged)
        if self._begun_ns >= 0:
            self._continue(tick, now_ns, tick_ns)

    def _begin(self, now_ns: int, timed: bool) -> None:
        self._begun_ns, self._timed = now_ns, timed
        self._left, self._log_before = {}, self.contents.log_bytes
        for name, found in self.cache.classes.items():
            if found.changed > 0.0:
                self._add(self._left, name, found.changed)
                found.changed = 0.0
        self._written = math.fsum(self._left.values())
        self._rate = {n: v * SECOND / max(self.rules.spread_ns, 1) for n, v in self._left.items()}

    def _continue(self, tick: _Tick, now_ns: int, tick_ns: int) -> None:
        for name in list(self._left):
            part = self._left[name]
            if self.rules.spread_ns:
                part = min(part, self._rate[name] * tick_ns / SECOND)
            tick.writes[name] = tick.writes.get(name, 0.0) + part
            self._left[name] -= part
            if self._left[name] < 1.0:
                del self._left[name]
        if not self._left:
            self._complete(now_ns)

    def _complete(self, now_ns: int) -> None:
        share = next(iter(self.shares.values()), IDEAL)
        begun, self._begun_ns = self._begun_ns, -1
        written = self._log_before
        self.contents.log_bytes = max(0, self.contents.log_bytes - written)
        self.contents.checkpoint_ns = self._last_ns = now_ns
        self.totals["checkpoints"] += 1
        lasted = min(now_ns - begun, self.rules.spread_ns + SECOND)  # idle time that was skipped is none of it
        spent = max(lasted, int(share.write.mean_ns * self._written / self.rules.page / self.rules.depth))
        self.finished.append(Checkpoint(begun, self._written, spent, share.fsync.mean_ns, written, self._timed))

    def checkpoint(self, now_ns: int) -> None:
        """Write all changes at once, as a clean shutdown does."""
        written = self.cache.clean()
        self.contents.log_bytes = 0
        self.contents.checkpoint_ns = self._last_ns = now_ns
        self._written, self._left, self._begun_ns = written, {}, -1

    @staticmethod
    def _add(into: dict[str, float], page_class: str, amount: float) -> None:
        name = page_class.rpartition("/")[0]
        if amount > 0.0:
            into[name] = into.get(name, 0.0) + amount

    # --- the disk -------------------------------------------------------------------------

    def _gather(self, tick: _Tick, now_ns: int, tick_ns: int) -> dict[str, int]:
        """Hold few reads back until it is time to ask the disk for them; over how long those that go now are spread."""
        spans: dict[str, int] = {}
        for name in dict.fromkeys((*self._pending, *tick.reads)):
            many = tick.reads.get(name, 0.0) >= MANY
            reads = tick.reads.pop(name, 0.0) + self._pending.pop(name, 0.0)
            if many or now_ns >= self._due_ns.get(name, 0):
                tick.reads[name] = reads
                spans[name] = tick_ns if many else SPARSE_NS
                if reads > 0.0:
                    self._due_ns[name] = now_ns + spans[name]
            elif reads > 0.0:
                self._pending[name] = reads
        return spans

    @staticmethod
    def _named(tick: _Tick) -> list[str]:
        return [
            name
            for name in dict.fromkeys((*tick.reads, *tick.scans, *tick.writes))
            if tick.reads.get(name, 0.0) > 0.0 or tick.scans.get(name, 0.0) > 0.0 or tick.writes.get(name, 0.0) > 0.0
        ]

    def _files(self, name: str, tick: _Tick, tick_ns: int) -> IoShare:
        """The reads and writes of one database."""
        reads, scanned, written = (d.get(name, 0.0) for d in (tick.reads, tick.scans, tick.writes))
        self.totals["reads"] += reads
        self.totals["writes"] += written / self.rules.page
        demand = IoDemand(
            file=self.file_of(self.contents.databases[name]),
            random_reads=reads,
            sequential_reads=scanned / (128 << 10),
            read_bytes=reads * self.rules.page + scanned,
            writes=written / self.rules.page,
            write_bytes=written,
            fsyncs=1.0 if written else 0.0,
            tick_ns=tick_ns,
            depth=self.rules.depth,
            spoilt=self._lost[name].asked() if name in self._lost else None,
        )
        return self.folder.load(f"data/{name}", demand)

    def _log(self, tick: _Tick, now_ns: int, tick_ns: int) -> IoShare:
        """The log of one tick: bytes and group commits. One thread writes it; what comes meanwhile waits for it."""
        added, waited, changed = self._unlogged
        tick.log_bytes, tick.waiting, tick.changes = (
            tick.log_bytes + added,
            tick.waiting + waited,
            tick.changes + changed,
        )
        if now_ns < self._logged_ns:
            self._unlogged = (tick.log_bytes, tick.waiting, tick.changes)
            return self._latest.get("", IDEAL)
        self._unlogged = (0.0, 0.0, 0.0)
        if tick.log_bytes <= 0.0:
            return IDEAL
        before = self._latest.get("", IDEAL).fsync.mean_ns or MILLISECOND
        groups = min(tick.waiting, max(1.0, tick_ns / before)) if tick.waiting else 0.0
        if self.rules.journal_ns:
            groups = max(groups, min(tick.changes, tick_ns / self.rules.journal_ns))
        written = int(tick.log_bytes)
        contents = self.contents
        if contents.position // self.log_step() != (contents.position + written) // self.log_step():
            contents.position += written
            error = self.folder.allocate(self.log_file(), self.log_step())
            if error:
                self.troubles.append(Trouble("log", "", error))
        else:
            contents.position += written
        contents.log_bytes += written
        self.totals["log_bytes"] += written
        self.totals["fsyncs"] += groups
        demand = IoDemand(
            file=self.log_file(),
            writes=max(groups, 1.0),
            write_bytes=tick.log_bytes,
            fsyncs=groups,
            tick_ns=tick_ns,
            depth=1,
        )
        share = self._latest[""] = self.folder.load("journal", demand)
        self._logged_ns = now_ns + share.fsync.mean_ns
        if share.write_error:
            self.troubles.append(Trouble("log", "", share.write_error))
        return share

    def _judge(self, name: str, share: IoShare, tick: _Tick) -> None:
        """Blocks and files that failed."""
        read = tick.reads.get(name, 0.0) + tick.scans.get(name, 0.0)
        for kind, error, blocks in (("read", "EIO", share.failed_reads), ("corrupt", "", share.corrupt_reads)):
            for block in blocks:
                if block.count:
                    self.troubles.append(Trouble(kind, name, error, block.offset, block.count, block.delay_ns))
        if share.read_error and read > 0.0:
            self.troubles.append(Trouble("read", name, share.read_error, 0, int(read) + 1))
        if share.write_error and tick.writes.get(name, 0.0) > 0.0:
            self.troubles.append(Trouble("write", name, share.write_error))

    def _cost(self, index: int, tick: _Tick, log: IoShare) -> Cost:
        """What an operation of one kind waited, and how many of them failed on their blocks."""
        io = self.operations[index]
        name = io.data or self.default
        share = self._latest.get(name, IDEAL)
        misses = tick.misses[index] + tick.scanned[index] / (128 << 10)
        mean = misses * share.read.mean_ns
        # Each of the pages misses or not, and each miss takes a random time: a compound binomial sum.
        hits = max(0.0, 1.0 - misses / max(misses, io.reads + io.writes)) if misses > 0.0 else 0.0
        variance = misses * share.read.mean_ns * share.read.mean_ns * (hits + share.read.cv2)
        if io.writes:
            if self.rules.durable if io.durable is None else io.durable:
                commit = COMMIT_WAITS * log.fsync.mean_ns
                mean += commit
                variance += commit * commit * (0.1 + log.fsync.cv2)
            if self.cache.changed > DIRTY_TRIGGER * self.cache.capacity:
                mean += share.write.mean_ns
                variance += share.write.mean_ns * share.write.mean_ns * (1.0 + share.write.cv2)
        return Cost(mean, variance, self._failing(name, share, tick, misses))

    def _failing(self, name: str, share: IoShare, tick: _Tick, misses: float) -> float:
        """Share of operations that needed a block which failed."""
        if share.read_error:
            return min(1.0, misses)
        wrong = (*share.failed_reads, *(share.corrupt_reads if self.verifies else ()))
        bad = sum(block.count for block in wrong)  # integers
        reads = tick.reads.get(name, 0.0)
        return min(1.0, bad / reads * misses) if bad and reads > 0.0 else 0.0
