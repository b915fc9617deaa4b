"""A store as a process: it reads its configuration, opens its data, serves, and dies of what its disk does.

Requests are the traffic's; once a tick the store tells what they cost beside CPU (waits for pages and for
the log, failures), and callers meet it at the next one. Who may ask at all is decided when routes are
made: user and password, rights, connections. Nothing here names a fault: what happens follows
from what the file system, the memory and the tables of users answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import add

from simcluster.engine import MICROSECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.apps.countedserver import CountedServer, CountingProgram
from simcluster.models.apps.logs import longest
from simcluster.models.apps.marks import fill
from simcluster.models.apps.requestwriter import RequestWriter
from simcluster.models.apps.startup import StartupWords
from simcluster.models.apps.stores.contents import Contents
from simcluster.models.apps.stores.demand import IoModel
from simcluster.models.apps.stores.folder import DataFolder
from simcluster.models.apps.stores.storage import Cost, Storage, Trouble
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.distribution import Latency
from simcluster.models.traffic.cluster.operations import CallSpec, LogTemplate, OperationSpec
from simcluster.models.traffic.cluster.server import Happened, Served, Server
from simcluster.telemetry.logs import LogFile, Reading, lines_of

#: A change of an operation's time that callers notice: a quarter of it and 200 us.
NOTICEABLE_SHARE, NOTICEABLE_NS = 0.25, 200.0 * MICROSECOND
NOTICEABLE_FAILURES = 0.01
#: Weight of the newest tick in the published waits; a sudden slowdown is published at once.
RECENT = 0.4
SUDDEN = 3.0
#: The same complaint about a caller is not printed more often.
COMPLAIN_NS = 10 * SECOND
#: Memory of a store follows its cache in steps of so many bytes.
MEMORY_STEP = 4 << 20
#: How often the kernel looks whether there is room for a store's files in its page cache (kswapd wakes when needed).
TRIM_NS = SECOND
#: So many of a tick's troubles are met one by one.
TROUBLES = 8
#: What opening the data takes if it will fail: the process ends by itself when the drive has given up.
FAILING = -1
#: What requests that last print in any tick: a pure function of when they began, worked out once and not in every tick.
_SLOW = Reading(50_000)
#: Connections that one caller's driver keeps open.
POOL = 3


class StoreProgram(CountingProgram):
    """What all stores have in common.

    Attributes:
        folder, contents: its data directory and what is in it, once it was opened.
        storage: its storage engine; None before, and of stores that keep nothing on disk.
        connections: those that callers hold, by caller.
        refused: operations that fail as a whole, and what callers are told.
        served: requests of each operation that came since it began to listen.
        slow_log: where it tells of operations that took long: its log, unless it keeps another.
    """

    #: Whether its own log tells of slow operations.
    tells_in_log = True
    tells_on_stderr = False
    folder: DataFolder | None = None
    contents: Contents | None = None
    storage: Storage | None = None
    #: Words of a caller without a password, and so on, differ; subclasses say them.
    connections: dict[tuple[str, str, str], int]
    refused: dict[int, str]
    served: list[int]
    slow_log: LogFile

    def start(self) -> None:
        """Configure, then as every server."""
        self.connections = {}
        self._holders: dict[tuple[str, str, str], Container] = {}
        self._since: dict[tuple[str, str, str], int] = {}
        self.slow_log = self.container.log if self.tells_in_log else LogFile()
        self._announced = 0
        self._slow, self._lasting = RequestWriter(self.slow_log, mix(self._key, 1)), False
        self._costs: list[Cost] = []
        self._at_rest: tuple[OperationSpec, ...] = ()
        self._known: dict[int, tuple[object, ...]] = {}  # of what operations were worked out last
        self._answers: dict[str, str] = {}
        self._complained: dict[str, int] = {}
        self._trimmed_ns = 0
        self.refused: dict[int, str] = {}
        if self.configure():
            super().start()

    def configure(self) -> bool:
        """Read arguments, variables and files; whether it can go on."""
        return True

    def open_data(self) -> int:
        """Open or make the data, recover what was not written; how long it takes, or `FAILING`. May end the process."""
        return 0

    def opened(self) -> None:
        """The data are open and it is about to listen."""

    def _ready(self) -> None:
        """Loaded: open the data first."""
        self._timer = None
        delay = self.open_data()
        if self.container.running and delay != FAILING:
            self._timer = self.container.sim.after(delay, self._listen)

    def _listen(self) -> None:
        self.opened()
        super()._ready()

    def build_server(self) -> Server:
        """A server that tells its counts."""
        spec = self.service_spec()
        self.served = [0] * len(spec.operations)
        self._at_rest, self._costs = spec.operations, [Cost(0.0, 0.0, 0.0)] * len(spec.operations)
        server = CountedServer(self, spec)
        server.gate = self
        return server

    def stop(self) -> None:
        """The process is gone; what it did not write stays in the log."""
        super().stop()
        if self.folder is not None:
            names = self.contents.databases if self.contents is not None else {}
            self.folder.release(("journal", *(f"data/{name}" for name in names)))

    # --- a tick ---------------------------------------------------------------------------

    def io_models(self) -> list[IoModel]:
        """What each operation does to the data."""
        return [operation.io or IoModel(reads=1.0) for operation in self.behaviour.asked]

    def took(self, tick_ns: int, counts: list[int]) -> None:
        """Requests of a tick: they are counted, and worked on as long as it serves."""
        if any(counts):
            self.served = list(map(add, self.served, counts))
        if self.server is not None and self.server.accepting:
            self.work(tick_ns, counts)

    def work(self, tick_ns: int, counts: Sequence[int]) -> None:
        """Operations of one tick: their I/O, and what came of it."""
        self.tell_slow(tick_ns, counts)
        storage = self.storage
        if storage is None or (not any(counts) and not storage.busy):
            return
        self.refused.clear()
        costs = storage.work(self.container.sim.now, tick_ns, counts)
        self.finished_checkpoints()
        for trouble in storage.troubles[:TROUBLES]:
            if trouble.delay_ns:
                self.container.sim.after(trouble.delay_ns, self._strike, trouble)
            else:
                self.trouble(trouble)
            if not self.container.running or self.storage is not storage:
                return
        self._publish(costs, counts)
        self._hold(storage)

    def tell_slow(self, tick_ns: int, counts: Sequence[int]) -> None:
        """Operations that may last so long that it tells of them; those that are still under way, too."""
        server, above = self.server, self.slow_from()
        if server is None or (above < 0 and not self._lasting):
            return
        slow = []
        for index, count in enumerate(counts) if above >= 0 else ():
            law = self.slow_law(server, index) if count else None
            text = self.slow_text(index) if law is not None and longest(law) > above else ""
            if law is not None and text:
                lines = (LogTemplate(text, "stderr" if self.tells_on_stderr else "stdout", above_ns=above),)
                slow.append(Served(lines, server.spec.operations[index].status, count, law))
        if slow or self._lasting:
            self._lasting = self._slow.write(self.container.sim.now, tick_ns, self.wording(), Happened(slow))

    def newly_slow(self) -> list[str]:
        """What a slow log of its own has been told of since the last time: lines."""
        found = [line.text for line in lines_of(self.slow_log.entries(self._announced), _SLOW)]
        self._announced = self.slow_log.end
        return found

    def slow_from(self) -> int:
        """It tells of operations that take longer than this, in nanoseconds; -1: of none."""
        return -1

    def slow_law(self, server: Server, index: int) -> Latency:
        """How long an operation takes, as the store itself measures it."""
        operation = server.spec.operations[index]
        return Latency(
            server.wait.mean_ns + server.service_ns(operation),
            server.wait.variance + server.service_variance(operation),
        )

    def slow_text(self, index: int) -> str:
        """What it says, with marks, of an operation that took long; "": nothing."""
        return ""

    def _strike(self, trouble: Trouble) -> None:
        """A read has failed after all the drive's tries."""
        if self.container.running and self.server is not None:
            self.trouble(trouble)

    def trouble(self, trouble: Trouble) -> None:
        """Something failed on the disk."""

    def finished_checkpoints(self) -> None:
        """Checkpoints were completed in this tick."""

    def fails_with(self, operation: int) -> str:
        """What callers are told whose operation failed on the disk."""
        return self._answers.get("", "")

    def held_up(self, operation: int) -> int:
        """How long an operation waits for a lock somebody holds; 0 if nobody does."""
        return 0

    def _publish(self, costs: list[Cost], counts: Sequence[int]) -> None:
        """What operations met in a tick goes into what callers may count on."""
        for index, count in enumerate(counts):
            if count or self._costs[index].failing:
                self._costs[index] = _smoothed(self._costs[index], costs[index], bool(count))
        self.tell()

    def tell(self) -> None:
        """Tell callers what they may count on now, if it has changed noticeably."""
        server = self.server
        if server is None:
            return
        changed: dict[int, OperationSpec] = {}
        before, costs, refused, waits = self._known, self._costs, self.refused, self.held_up
        for index, old in enumerate(server.spec.operations):
            cost = costs[index]
            why = self.fails_with(index) if cost.failing else ""
            known = (old, cost, waits(index), refused.get(index, "") if refused else "", why)
            if before.get(index) == known:
                continue
            before[index] = known
            operation = self._with_cost(index, old)
            if _differs(old, operation):
                changed[index] = operation
        if changed:
            operations = [changed.get(index, old) for index, old in enumerate(server.spec.operations)]
            server.spec = replace(server.spec, operations=tuple(operations))
            self.traffic.rewire()

    def setting_changed(self, name: str) -> None:
        """A setting has another value."""

    def republish(self) -> None:
        """Locks, users or settings have changed: callers meet it at the next tick."""
        if self.server is not None:
            operations = tuple(self._with_cost(i, o) for i, o in enumerate(self.server.spec.operations))
            self.server.spec = replace(self.server.spec, operations=operations)
            self.traffic.rewire()

    def _with_cost(self, index: int, operation: OperationSpec) -> OperationSpec:
        """An operation as it is now."""
        base = self._at_rest[index]
        cost, lock = self._costs[index], self.held_up(index)
        wait = base.latency_ns + cost.wait_ns + lock
        spread = base.latency_ns * base.latency_cv
        deviation = math.sqrt(cost.variance + spread * spread)
        refused = self.refused.get(index, "")
        failing = 1.0 if refused else min(1.0, base.failure + cost.failing)
        return replace(
            operation,
            latency_ns=int(wait),
            latency_cv=round(min(20.0, deviation / wait), 2) if wait >= 1.0 else base.latency_cv,
            failure=failing,
            answer=refused or (self.fails_with(index) if cost.failing else ""),
        )

    def _hold(self, storage: Storage) -> None:
        """The memory of the process follows its cache."""
        server = self.server
        if server is None:
            return
        now = self.container.sim.now
        if now >= self._trimmed_ns:
            self._trimmed_ns = now + TRIM_NS
            storage.cache.trim(float(self.folder.cache_room()) if self.folder is not None else 0.0)
        self.container.cache_files(int(storage.cache.behind))
        held = int(storage.cache.held) // MEMORY_STEP * MEMORY_STEP
        memory = self.behaviour.memory + held
        if memory != server.spec.memory_base:
            self.rebase(memory)

    def rebase(self, memory: int) -> None:
        """The process holds so many bytes beside what its requests take."""
        if self.server is not None:
            self.server.spec = replace(self.server.spec, memory_base=memory)

    # --- who may ask ----------------------------------------------------------------------

    def refusal(self, caller: Server, call: CallSpec) -> str:
        """What a caller is told that is not served; "" if he is."""
        user, password, database = self.introduced(caller, call)
        why = self.admit(user, password, database, call, caller)
        if why:
            self.complain(f"{'/'.join(caller.identity)} {why}", user, database, why, caller)
        return why

    def introduced(self, caller: Server, call: CallSpec) -> tuple[str, str, str]:
        """As whom a caller comes: by its call, or by the URL in its environment."""
        user, password, database = call.login or ("", "", "")
        value = caller.environment.get(call.env, "")
        if not user and "@" in value:
            name, _, place = value.partition("://")[2].rpartition("@")
            user, _, password = name.partition(":")
            database = database or place.partition("/")[2].partition("?")[0]
        words = StartupWords(caller.container, caller.environment, (), "")
        return fill(user, words.value), fill(password, words.value), fill(database, words.value)

    def admit(self, user: str, password: str, database: str, call: CallSpec, caller: Server) -> str:
        """Whether a user may do what a call asks for; the error's text if not."""
        return ""

    def complain(self, key: str, user: str, database: str, why: str, caller: Server) -> None:
        """Print why a caller is not served, not too often."""
        now = self.container.sim.now
        before = self._complained.get(key)
        if before is None or now - before >= COMPLAIN_NS:
            self._complained[key] = now
            self.print_refusal(user, database, why, caller)

    def print_refusal(self, user: str, database: str, why: str, caller: Server) -> None:
        """The log's line about a caller who is not served."""

    def seated(self, caller: Server, most: int) -> bool:
        """Whether a caller has, or gets, its connections under a limit of `most`."""
        for who, holder in list(self._holders.items()):
            if not holder.running:  # a program that is still loading has its pool already
                del self._holders[who], self.connections[who]
        if caller.identity in self.connections:
            if self.open_connections() <= most:
                return True
            del self.connections[caller.identity], self._holders[caller.identity]
        if self.open_connections() + POOL > most:
            return False
        self.connections[caller.identity], self._holders[caller.identity] = POOL, caller.container
        self._since[caller.identity] = self.container.sim.now
        return True

    def holder_of(self, identity: tuple[str, str, str]) -> Container | None:
        """The container that holds a caller's connections."""
        return self._holders.get(identity)

    def connected_ns(self, identity: tuple[str, str, str]) -> int:
        """When a caller's connections were opened: not before it and the store were there."""
        holder = self._holders.get(identity)
        begun = [self._since.get(identity, 0), self.container.started_ns]
        return max(begun if holder is None else [*begun, holder.started_ns])

    def open_connections(self) -> int:
        """Connections of callers, their pools growing with what is under way, and sessions of people."""
        busy = int(self.server.in_flight) if self.server is not None else 0
        return max(sum(self.connections.values()), min(busy, 10 * POOL * len(self.connections)))  # integers

    def io_of(self, call: CallSpec) -> IoModel:
        """What a call's operation does."""
        operation = self.behaviour.operations.get(call.operation) or self.behaviour.asked[0]
        return operation.io or IoModel()

    def served_by_command(self) -> dict[str, int]:
        """Requests that came since it began to listen, by what the store calls them."""
        found: dict[str, int] = {}
        for name, io, count in zip(self.behaviour.operations, self.io_models(), self.served, strict=True):
            command = io.command or name.partition("-")[0]
            found[command] = found.get(command, 0) + count
        return found

    def uptime_s(self) -> int:
        """Seconds since the process started."""
        return (self.container.sim.now - self.container.started_ns) // SECOND

    def memory_limit(self) -> int:
        """Bytes of memory it sees: its limit, or the machine's."""
        return min(self.container.spec.memory_limit or 1 << 62, self.container.machine.memory_bytes)


def _smoothed(old: Cost, new: Cost, asked: bool) -> Cost:
    """Waits as an average over ticks; a change by more than `SUDDEN` counts at once."""
    if not asked:
        return Cost(old.wait_ns, old.variance, 0.0)
    sudden = new.wait_ns > SUDDEN * old.wait_ns or old.wait_ns > 2.0 * SUDDEN * new.wait_ns
    weight = 1.0 if sudden else RECENT
    keep = 1.0 - weight
    failing = new.failing if new.failing > old.failing else keep * old.failing + weight * new.failing
    return Cost(
        keep * old.wait_ns + weight * new.wait_ns,
        keep * old.variance + weight * new.variance,
        failing if failing > 1e-4 else 0.0,
    )


def _differs(old: OperationSpec, new: OperationSpec) -> bool:
    """Whether callers would notice."""
    if (old.failure > 0.0) != (new.failure > 0.0) or abs(old.failure - new.failure) > NOTICEABLE_FAILURES:
        return True
    whole = old.latency_ns + old.cpu_ns
    return abs(new.latency_ns - old.latency_ns) > NOTICEABLE_NS + NOTICEABLE_SHARE * whole
