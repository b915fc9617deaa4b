"""One drive of a machine: commands, loads, its ways of failing, and what the kernel says about it.

Nothing runs while nothing happens: stalls, patrols and counters of idle time are functions of the clock. Left out:
several partitions in use at once, RAID, multipath, I/O priorities.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

from simcluster.engine import SECOND, Simulation
from simcluster.engine.arithmetic import exp, log, normal_quantile
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.machine.storage import kernellines, outage, service
from simcluster.models.machine.storage.background import WRITE_BYTES, Background
from simcluster.models.machine.storage.counters import Counters
from simcluster.models.machine.storage.drivemodel import BLOCK, SECTOR, SECTORS_A_BLOCK, DriveModel
from simcluster.models.machine.storage.outage import DiskHost
from simcluster.models.machine.storage.sectors import SectorMap
from simcluster.models.machine.storage.service import Answer, Rates
from simcluster.models.machine.storage.slow import SlowMode, is_on, on_drive, stall_within
from simcluster.models.machine.storage.smart import SelfTest, Smart
from simcluster.models.machine.storage.workload import Workload

#: Longest request of the block layer (max_sectors_kb 1280), and what read-ahead asks for.
REQUEST_BYTES = 1280 << 10
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ0123456789"


class DeviceAnswer(NamedTuple):
    """One command: time, whether it failed, the first physical sector (LBA) that is bad or came back wrong (or -1)."""

    delay_ns: int
    failed: bool = False
    bad_lba: int = -1
    wrong_lba: int = -1


class Partition(NamedTuple):
    """A part of a drive: name, first sector, sectors, what is on it (`ext4`, `vfat`), label and UUID."""

    name: str
    start: int
    sectors: int
    content: str
    label: str = ""
    uuid: str = ""


class LoadAnswer(NamedTuple):
    """What an owner gets in a tick: the law of its answers, time without any, share of its work done, or all fails."""

    answer: Answer
    stalled_ns: int
    served: float
    dead: bool
    delay_ns: float  # added to every response by stalls and backlog, on average


class Disk:
    """A drive.

    Attributes:
        name: kernel name, `sda`.
        model: its make.
        sectors, smart, counters: surface, self-monitoring, the kernel's counters.
        modes: how it is slow.
        partitions: how it is divided.
        outage: set while it does not answer.
        patrol_ns: period of its background scan; 0: it has none.
        lifetime: what it did before the kernel counted anew.
    """

    def __init__(
        self,
        sim: Simulation,
        host: DiskHost,
        name: str,
        model: DriveModel,
        *,
        port: int = 1,
        background: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.sim = sim
        self.host = host
        self.name = name
        self.model = model
        self.port = port
        self.key = sim.streams.key("disk", host.name, name)
        self.born_ns = host.booted_ns  # when it was powered on
        self.sectors = SectorMap(sim, model)
        self.smart = Smart(base_hours=4000 + mix(self.key, 1) % 22_000, cycles=12 + mix(self.key, 2) % 40)
        self.counters = Counters()
        self.lifetime = Counters()
        self.off_ns = 0  # without power since `born_ns`
        self._daemons = Background(*background, model.flush_ns, self.born_ns)
        self.modes: tuple[SlowMode, ...] = ()
        self.partitions: list[Partition] = []
        self.outage: outage.Outage | None = None
        self.patrol_ns = 0
        self.on_dead: list[Callable[[], None]] = []
        self.on_replaced: list[Callable[[], None]] = []
        self._loads: dict[str, tuple[Rates, int]] = {}
        self._commands = 0
        self._retrying_until_ns = 0
        self._off_ns = 0
        self._healthy_write_ns = service.law_of(model, "write", float(WRITE_BYTES), 1.0, ()).mean
        self._work = Workload(sim.now, serial=model.channels == 1)
        self._waiting: dict[str, float] = {}
        self._coming: dict[str, _Coming] = {}  # requests of loads that have not ended, counted beforehand
        self._request_errors = kernellines.RateLimit("blk_print_req_error")
        self._buffer_errors = kernellines.RateLimit("buffer_io_error")
        self._daemons.booted(self.born_ns, self.write_ns())

    # Names.

    @property
    def controller(self) -> str:
        """`nvme0` of `nvme0n1`."""
        return self.name.partition("n1")[0]

    @property
    def address(self) -> str:
        """SCSI address (host:channel:target:lun)."""
        return f"{self.port - 1}:0:0:0"

    @property
    def serial(self) -> str:
        """Serial number."""
        head = "S64FNE0R" if self.model.is_nvme else "ZA"
        return head + "".join(_LETTERS[mix(self.key, 10 + i) % len(_LETTERS)] for i in range(6))

    @property
    def present(self) -> bool:
        """Whether it is on the bus and the kernel has not given it up."""
        return self.outage is None or not self.outage.disabled

    @property
    def power_on_hours(self) -> int:
        """Hours under power."""
        return self.smart.base_hours + (self.sim.now - self.born_ns - self.off_ns) // (3600 * SECOND)

    @property
    def temperature(self) -> int:
        """Degrees Celsius: more when it works."""
        return (31 if self.model.rotates else 36) + mix(self.key, 3) % 5 + round(7 * self.utilisation())

    # Knobs.

    def fail_slow(self, mode: SlowMode) -> None:
        """The drive becomes slow in one more way. Raises ValueError if a drive of this make cannot."""
        self.settle()
        self.modes = (*self.modes, on_drive(mode, self.model))
        self.settle()

    def recover(self) -> None:
        """It is as fast as ever, and answers."""
        self.settle()
        self.modes = ()
        self._retrying_until_ns = 0
        if self.outage is not None:
            self.came_back()
        self.settle()

    def powered_off(self, *, orderly: bool) -> None:
        """Power goes; what is under way is lost, and a drive counts it if nobody has told it before."""
        self.settle()
        self._off_ns = self.sim.now
        self.smart.unsafe_shutdowns += 0 if orderly else 1

    def booted(self) -> None:
        """Power is back and the machine has booted: a new kernel counts from nothing, the drive goes on."""
        self.settle()
        now = self.sim.now
        self.lifetime.add(self.counted(), 1.0)
        self.off_ns += now - self._off_ns
        self.smart.cycles += 1
        self.counters, self._coming = Counters(), {}
        self._work.busy_ns = 0.0
        self._daemons.booted(now, self.write_ns())

    def fail_stop(self) -> None:
        """It never answers again."""
        self.settle()
        self.outage = outage.forever(self)
        self.settle()

    def hang(self, duration_ns: int) -> None:
        """It answers nothing for a while. Raises ValueError."""
        if duration_ns <= 0:
            raise ValueError(f"a hang of {duration_ns} ns")
        self.settle()
        self.outage = outage.until(self, self.sim.now + duration_ns)
        self.settle()
        self.sim.after(duration_ns, self._woke, self.outage)

    def disappear(self, duration_ns: int = 0) -> None:
        """It leaves the bus, and comes back after a while (0: never). Raises ValueError."""
        if duration_ns < 0:
            raise ValueError(f"{duration_ns} ns")
        self.settle()
        self.outage = outage.gone(self, self.sim.now + duration_ns if duration_ns else 0)
        self.settle()
        if self.model.is_nvme:
            self.host.kernel(
                f"nvme {self.controller}: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff",
                f"nvme {self.controller}: Removing after probe failure status: -19",
            )
        else:
            self.host.kernel(
                f"ata{self.port}: SATA link down (SStatus 0 SControl 300)",
                f"ata{self.port}.00: disable device",
                f"ata{self.port}.00: detaching (SCSI {self.address})",
                f"sd {self.address}: [{self.name}] Synchronizing SCSI cache",
                f"sd {self.address}: [{self.name}] Synchronize Cache(10) failed: Result: hostbyte=DID_BAD_TARGET "
                "driverbyte=DRIVER_OK",
            )
        if duration_ns:
            self.sim.after(duration_ns, self._woke, self.outage)
        self._tell_dead()

    def replace(self) -> None:
        """Somebody puts a new drive of the same make into the slot: divided alike, without file systems."""
        self.settle()
        self.key = mix(self.key, 99)
        self.sectors.forget()
        self.smart = Smart(base_hours=2, cycles=3)
        self.modes, self.born_ns, self.off_ns = (), self.sim.now, 0
        self.counters, self.lifetime, self._coming = Counters(), Counters(), {}
        self._retrying_until_ns = 0
        self._work.clear(self.sim.now)
        self._work.busy_ns = 0.0
        self.partitions = [part._replace(uuid="", label="", content="") for part in self.partitions]
        for listener in list(self.on_replaced):
            listener()
        was, self.outage = self.outage, None
        self._daemons = self._daemons.anew(self.sim.now)
        self.settle()
        if was is not None and was.disabled:
            self._announce()

    def scrub(self) -> list[int]:
        """Read the whole surface now: latent errors become known (197) and count as offline uncorrectable (198).

        Returns:
            first sectors of those it found.
        """
        found = self.sectors.latent()
        for block in found:
            self.sectors.found(block)
        self.smart.offline_uncorrectable = len(self.sectors.pending)
        return [block * SECTORS_A_BLOCK for block in found]

    def self_test(self, kind: str) -> SelfTest:
        """Begin a `short` or `long` self-test; it ends by itself. What it finds becomes known."""
        whole_ns = self.surface_scan_ns
        bad = self.sectors.bad_in(0, self.model.size_bytes // BLOCK) if kind == "long" else []
        if bad:
            self.sectors.found(bad[0])
            self.smart.offline_uncorrectable = len(self.sectors.pending)
            whole_ns = whole_ns * bad[0] * BLOCK // self.model.size_bytes + self.model.give_up_ns[0]
        test = SelfTest(kind, self.sim.now, whole_ns if kind == "long" else 120 * SECOND, bad[0] * 8 if bad else -1)
        self.smart.tests = [test, *self.smart.tests[:20]]
        return test

    @property
    def surface_scan_ns(self) -> int:
        """How long reading everything takes."""
        return self.model.size_bytes * SECOND * 2 // (self.model.outer_bytes_per_s + self.model.inner_bytes_per_s)

    def pending(self) -> int:
        """Attribute 197: sectors known to be unreadable, those that a patrol has come across among them."""
        known = len(self.sectors.pending)
        if self.patrol_ns and not self.sectors.flawless:
            known += len(self.sectors.patrolled(self.patrol_ns, self.born_ns, self.sim.now))
        return known

    # Single commands.

    def read(self, lba: int, sectors: int, *, sequential: bool = False, buffered: str = "") -> DeviceAnswer:
        """Read a range; it ends at the first sector that cannot be read.

        Args:
            buffered: partition, when it is read through the block device's own cache (dd, metadata).
        """
        refused = self._refused(lba, False)
        if refused is not None:
            return refused
        self._commands += 1
        kind = "sequential" if sequential and sectors * SECTOR >= BLOCK else "random"
        first, count = lba // SECTORS_A_BLOCK, (lba + sectors - 1) // SECTORS_A_BLOCK - lba // SECTORS_A_BLOCK + 1
        bad = self.sectors.bad_in(first, count)
        wrong = self.sectors.wrong_in(first, count)
        good = sectors if not bad else max(0, bad[0] * SECTORS_A_BLOCK - lba)
        delay = self._timed(kind, max(good, 1) * SECTOR, (lba + sectors // 2) / self.model.sectors)
        self.counters.read(max(1, -(-good * SECTOR // REQUEST_BYTES)), good * SECTOR, delay)
        wrong_lba = wrong[0] * SECTORS_A_BLOCK if wrong and (not bad or wrong[0] < bad[0]) else -1
        if not bad:
            return DeviceAnswer(delay, wrong_lba=wrong_lba)
        return DeviceAnswer(self.give_up(bad[0], delay, buffered), True, bad[0] * SECTORS_A_BLOCK, wrong_lba)

    def pass_over(self, sectors: int, *, sequential: bool = False, write: bool = False) -> int:
        """Read or write sectors of which nothing is wrong, wherever they are; how long it takes."""
        self._commands += 1
        kind = "sequential" if sequential else "write" if write else "random"
        delay = self._timed(kind, sectors * SECTOR, 0.3)
        count = self.counters.write if write else self.counters.read
        count(max(1, -(-sectors * SECTOR // REQUEST_BYTES)), sectors * SECTOR, delay)
        return delay

    def give_up(self, block: int, delay_ns: int, buffered: str = "") -> int:
        """A read of a bad sector: when the drive gives it up, from now; it does nothing else meanwhile."""
        low, high = self.model.give_up_ns
        self._commands += 1
        tried = low + round((high - low) * uniform_at(self.key, 1000 + self._commands))
        delay = max(delay_ns, self._retrying_until_ns - self.sim.now) + tried
        if self.model.rotates:  # a hard disk retries with all it has; of flash only one channel is away
            self._retrying_until_ns = max(self._retrying_until_ns, self.sim.now + delay)
        self.counters.busy_ns += tried
        self.counters.read(1, 0, delay)
        self.sim.after(delay, self._gave_up, block, buffered, tried)
        return delay

    def write(self, lba: int, sectors: int, *, sequential: bool = False) -> DeviceAnswer:
        """Write a range; sectors that were bad are remapped."""
        refused = self._refused(lba, True)
        if refused is not None:
            return refused
        self._commands += 1
        delay = self._timed("sequential" if sequential else "write", sectors * SECTOR, lba / self.model.sectors)
        self.counters.write(max(1, -(-sectors * SECTOR // REQUEST_BYTES)), sectors * SECTOR, delay)
        first = lba // SECTORS_A_BLOCK
        if self.sectors.flawless or self.sectors.write(first, (lba + sectors - 1) // SECTORS_A_BLOCK - first + 1):
            return DeviceAnswer(delay)
        self.sim.after(delay, self._log_request, "I/O", lba, "WRITE")
        return DeviceAnswer(delay, True, lba)

    def flush(self) -> DeviceAnswer:
        """Make what was written durable."""
        refused = self._refused(0, True)
        if refused is not None:
            return refused
        self._commands += 1
        delay = self._timed("flush", 0, 0.0)
        self.counters.flush(1, delay)
        return DeviceAnswer(delay)

    def _refused(self, lba: int, write: bool) -> DeviceAnswer | None:
        if self.outage is None:
            return None
        waits = self.outage.meet(lba, write)
        if waits.fails:
            if not waits.wait_ns:
                self.report_dead(lba, "WRITE" if write else "READ", 0)
            return DeviceAnswer(waits.wait_ns, True)
        return DeviceAnswer(waits.wait_ns) if waits.wait_ns else None

    def _timed(self, kind: str, size: int, place: float) -> int:
        """How long one request takes now: drawn from its law, with waiting, stalls and retries under way."""
        self.settle()
        modes = self._active()
        law = service.law_of(self.model, kind, float(size), 1.0, modes)
        own = law.mean
        variance = max(0.0, law.square - law.mean * law.mean)
        if variance > 0.0:
            sigma2 = log(1.0 + variance / (own * own))
            z = normal_quantile(uniform_at(self.key, 7_000_000 + self._commands))
            own = own * exp(z * sqrt(sigma2) - sigma2 / 2.0)
        moved = service.transfer_ns(self.model, float(size), modes, place) - service.transfer_ns(
            self.model, float(size), modes
        )
        own = max(own + moved * (1.0 if kind != "flush" else 0.0), law.mean / 8.0)
        self.counters.busy_ns += own
        waiting = self._work.left_ns / self.model.channels
        if any(until > self.sim.now for _, until in self._loads.values()):
            ask = Rates(random_reads=0.001)
            waiting += max(0.0, self._respond(ask, modes).read.mean_ns - self._alone(ask, modes))
        begin = max(self.sim.now, self._retrying_until_ns) + round(waiting)
        end = begin + round(own)
        for number, mode in enumerate(modes):
            stalled, over = stall_within(mode, self.key + number, begin, end)
            if over:
                end += over - max(begin, stalled)
        return end - self.sim.now

    def _alone(self, ask: Rates, modes: tuple[SlowMode, ...]) -> float:
        return service.respond(self.model, [ask], ask, modes).read.mean_ns

    def _active(self) -> tuple[SlowMode, ...]:
        if not self.modes:
            return ()
        return tuple(mode for i, mode in enumerate(self.modes) if is_on(mode, self.key + 31 * i, self.sim.now))

    # Loads.

    def load(self, owner: str, rates: Rates, tick_ns: int) -> LoadAnswer:
        """Take an owner's load for a tick, and say what it gets out of it."""
        self.settle()
        now = self.sim.now
        for name in [name for name, (_, until) in self._loads.items() if until <= now]:
            del self._loads[name]
            self._waiting.pop(name, None)
            self._coming.pop(name, None)
        self._loads[owner] = (rates, now + 2 * tick_ns)
        modes = self._active()
        answer = self._respond(rates, modes)
        work = self._work
        work.bring(owner, answer.own, answer.busy, now, now + tick_ns)
        stalled, dead = self._standstill(modes, tick_ns, rates.writes > rates.random_reads)
        outstanding = sum(load.depth for load, _ in self._loads.values())  # integers
        bound = outstanding * answer.request_ns
        if stalled and not dead:
            work.left_ns += stalled * min(1.0, answer.offered)
        work.left_ns = min(work.left_ns, bound)
        served = 0.0 if dead else 1.0 - stalled / tick_ns
        if answer.offered > 1.0 and work.left_ns >= bound * 0.9:
            served = served / answer.offered
        # Who arrives in the middle of a standstill waits for half of what is left of it, on average.
        delay = work.left_ns / self.model.channels + stalled / tick_ns * (stalled / 2.0)
        self._cut_short(owner)
        counted = _counted(rates, answer, tick_ns, served, delay)
        self.counters.add(counted, 1.0)
        late = round(delay)
        self._coming[owner] = _Coming(counted, now + late, now + tick_ns + late, late)
        reads = rates.random_reads + rates.sequential_reads
        stays = reads * answer.read.mean_ns + rates.fsyncs * answer.fsync.mean_ns + (reads + rates.fsyncs) * delay
        self._waiting[owner] = min(float(rates.depth), stays / SECOND) if not dead else float(rates.depth)
        return LoadAnswer(answer, stalled, served, dead, delay)

    def unload(self, owner: str) -> None:
        """The owner's process is gone."""
        self.settle()
        self._waiting.pop(owner, None)
        self._cut_short(owner)
        self._work.drop(owner, self.sim.now)
        self._loads.pop(owner, None)

    def _respond(self, rates: Rates, modes: tuple[SlowMode, ...]) -> Answer:
        return service.respond(self.model, [load for load, _ in self._loads.values()], rates, modes)

    def _standstill(self, modes: tuple[SlowMode, ...], tick_ns: int, writes: bool) -> tuple[int, bool]:
        now = self.sim.now
        if self.outage is not None:
            waits = self.outage.meet(0, writes)
            if waits.fails and not waits.wait_ns:
                return tick_ns, True
            return self.outage.stalled_ns(tick_ns), False
        stalled = max(0, min(tick_ns, self._retrying_until_ns - now))
        for number, mode in enumerate(modes):
            begin, end = stall_within(mode, self.key + number, now, now + tick_ns)
            stalled += max(0, min(end, now + tick_ns) - max(begin, now))
        return min(stalled, tick_ns), False

    def _cut_short(self, owner: str) -> None:
        """What a load has not asked for yet it does not ask for any more; what is under way ends when it does."""
        coming, now = self._coming.pop(owner, None), self.sim.now
        for name in [name for name, each in self._coming.items() if each.until <= now and name not in self._loads]:
            del self._coming[name]
        if coming is None or coming.until <= now:
            return
        unasked = max(0, coming.until - coming.late - now)
        share = unasked / (coming.until - coming.begun)
        self.counters.add(coming.counted, -share)
        if coming.late and share < 1.0:
            under_way = Counters()
            under_way.add(coming.counted, 1.0 - share)
            under_way.busy_ns = 0.0
            self._coming[f"{owner} {coming.until}"] = _Coming(under_way, coming.begun, coming.until - unasked, 0)

    def settle(self) -> None:
        """Bring the backlog, and what daemons have done, up to now."""
        self._work.settle(self.sim.now)
        if self._daemons.there:
            self._daemons.look(self.sim.now, self.write_ns())

    def write_ns(self) -> float:
        """How long a daemon's write takes now; 0 while the drive answers nobody."""
        if self.outage is not None or not self.modes:
            return 0.0 if self.outage is not None else self._healthy_write_ns
        return service.law_of(self.model, "write", float(WRITE_BYTES), 1.0, self._active()).mean

    def utilisation(self) -> float:
        """Busy share now."""
        return 1.0 if self._retrying_until_ns > self.sim.now else self._work.utilisation(self.sim.now)

    def waiting(self) -> dict[str, float]:
        """Threads that wait for this drive now (reads and fsyncs under way), on average, by container or process."""
        behind = bool(self._loads) and self._work.left(self.sim.now) > 0.0
        found: dict[str, float] = {}
        for owner, (_, until) in self._loads.items():
            if behind or until > self.sim.now:
                name = owner.partition("/")[2].partition("/")[0]  # the file system's device is before it
                found[name] = found.get(name, 0.0) + self._waiting[owner]
        return found

    def rates(self) -> dict[str, Rates]:
        """What processes ask of it now, by owner of the load."""
        return {name: rates for name, (rates, until) in self._loads.items() if until > self.sim.now}

    def counted(self) -> Counters:
        """The kernel's counters at this moment, the host's own small writes among them."""
        found, now = self.counters.copy(), self.sim.now
        found.busy_ns += self._work.busy(now)
        for coming in self._coming.values():
            if coming.until > now:
                found.add(coming.counted, -(coming.until - max(now, coming.begun)) / (coming.until - coming.begun))
        found.add(self._daemons.counted(now), 1.0)
        return found

    # What the kernel says.

    def log_buffer(self, partition: str, block: int, what: str) -> None:
        """Buffer I/O error lines, as many as their rate limit lets through."""
        text = kernellines.buffer_error(partition, block, what)
        self.host.kernel(*self._buffer_errors.lines(self.sim.now, text))

    def report_dead(self, lba: int, operation: str, age_ns: int) -> None:
        """A command failed because the drive is gone; tell the file systems."""
        if self.model.is_nvme:
            self._log_request("I/O", lba, operation)
        elif age_ns:
            lines = kernellines.scsi_dead(self.address, self.name, lba % 31, lba, 8, age_ns // SECOND, operation)
            self.host.kernel(*lines)
            self._log_request("I/O", lba, operation)
        else:
            rejecting = f"sd {self.address}: rejecting I/O to offline device"
            self.host.kernel(*self._request_errors.lines(self.sim.now, rejecting))
            self._log_request("I/O", lba, operation)
        if age_ns:
            self._tell_dead()

    def came_back(self) -> None:
        """It answers again."""
        was, self.outage = self.outage, None
        self.settle()
        if was is not None and was.gone:
            self._announce()

    def _announce(self) -> None:
        lines = kernellines.attached(self.port, self.address, self.name, self.model)
        self.host.kernel(*lines)

    def _woke(self, was: outage.Outage) -> None:
        # After a long hang it is the error handler's next reset that finds the drive; what it has disabled stays so.
        if self.outage is was and (was.gone or not (was.meets_handler or was.disabled)):
            self.came_back()

    def _tell_dead(self) -> None:
        for listener in list(self.on_dead):
            listener()

    def _gave_up(self, block: int, buffered: str, tried_ns: int) -> None:
        if self.outage is not None or block not in self.sectors.since_ns:
            return
        lba = block * SECTORS_A_BLOCK
        self.sectors.found(block)
        self.smart.failed_read(self.sim.now, lba, SECTORS_A_BLOCK)
        tag = self._commands * 7 % 31
        if self.model.is_nvme:
            self.host.kernel(kernellines.nvme_medium_error(self.name, lba, SECTORS_A_BLOCK))
            self._log_request("critical medium", lba, "READ")
        else:
            age = tried_ns // SECOND
            self.host.kernel(
                *kernellines.ata_medium_error(self.port, tag, lba, SECTORS_A_BLOCK),
                *kernellines.scsi_medium_error(self.address, self.name, tag, lba, SECTORS_A_BLOCK, age),
            )
            self._log_request("I/O", lba, "READ")
            self.host.kernel(f"ata{self.port}: EH complete")
        if buffered:
            start = next((part.start for part in self.partitions if part.name == buffered), 0)
            self.log_buffer(buffered, (lba - start) // SECTORS_A_BLOCK, "async page read")

    def _log_request(self, what: str, lba: int, operation: str) -> None:
        text = kernellines.request_error(what, self.name, lba, operation)
        self.host.kernel(*self._request_errors.lines(self.sim.now, text))


class _Coming(NamedTuple):
    """What the kernel will have counted of a load between two instants; `late`: how long its requests take."""

    counted: Counters
    begun: int
    until: int
    late: int


def _counted(rates: Rates, answer: Answer, tick_ns: int, served: float, delay: float) -> Counters:
    """What the kernel counts of a load in its tick."""
    found, seconds = Counters(), tick_ns / SECOND * served
    reads, follows = rates.random_reads * seconds, rates.sequential_reads * seconds
    size = reads * rates.random_size + follows * rates.sequential_size
    found.read(reads + follows, size, answer.read.mean_ns + delay)
    writes = rates.writes * seconds
    found.write(writes, writes * rates.write_size, answer.write.mean_ns + delay)
    found.flush(rates.fsyncs * seconds, answer.fsync.mean_ns + delay)
    return found
