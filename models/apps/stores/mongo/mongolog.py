"""mongod's structured log (4.4 and later): one JSON object a line, its fields padded as the server pads them.

Ids, components and messages are those that mongod and WiredTiger print. Left out: stack traces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from simcluster.engine import format_rfc3339, parse_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.apps.stores.demand import DataSet, IoModel
from simcluster.models.machine.container import Container

#: What a slow operation of a client must hold: intents of the global, database and collection locks.
_LOCKS = ("ReplicationStateTransition", "Global", "Database", "Collection", "Mutex")
#: Read at once.
_PAGE = 32 << 10
_UNIX_EPOCH_NS = -parse_rfc3339("1970-01-01T00:00:00Z")
#: strerror texts.
ERRNO = {"EIO": (5, "Input/output error"), "ENOSPC": (28, "No space left on device")}
ERRNO |= {
    "EACCES": (13, "Permission denied"),
    "EROFS": (30, "Read-only file system"),
    "ENOENT": (2, "No such file or directory"),
}
_FASSERT = "src/mongo/db/storage/wiredtiger/wiredtiger_util.cpp"


class MongoLog:
    """The log of one mongod."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._thread = f"0x7f{mix(container.sim.streams.key('mongod', container.container_id), 1) % (1 << 40):010x}"

    def say(
        self, level: str, component: str, number: int, context: str, message: str, attr: Mapping[str, Any] | None = None
    ) -> None:
        """One line."""
        when = format_rfc3339(self._container.sim.now, digits=3).replace("Z", "+00:00")
        self._container.write(line_of(when, level, component, number, context, message, attr))

    def wired(self, context: str, error: int, text: str) -> None:
        """What WiredTiger reports by its error handler."""
        stamp = (self._container.sim.now + _UNIX_EPOCH_NS) // 1000
        message = f"[{stamp // 1_000_000}:{stamp % 1_000_000}][1:{self._thread}], {text}"
        self.say("E", "STORAGE", 22435, context, "WiredTiger error", {"error": error, "message": message})

    def io_error(self, context: str, session: str, call: str, what: str, error: str) -> None:
        """A system call failed: `handle-read: pread: failed to read ...`."""
        number, text = ERRNO[error]
        self.wired(context, number, f"{session}: {call}: {what}: {text}")

    def checksum(self, context: str, file: str, offset: int, size: int) -> None:
        """A block that came back wrong, its beginning, and that there is no way on."""
        seen, wanted = mix(offset, 1) % (1 << 32), mix(offset, 2) % (1 << 32)
        where = f"file:{file}, WT_CURSOR.search"
        self.wired(
            context,
            0,
            f"{where}: __wt_block_read_off, 283: {file}: potential hardware corruption, read checksum error for "
            f"{size}B block at offset {offset}: block header checksum of {seen:#x} doesn't match expected checksum "
            f"of {wanted:#x}",
        )
        chunk = " ".join(f"{mix(offset, 3 + i) % 256:02x}" for i in range(64))
        self.wired(
            context,
            0,
            f"{where}: __wt_bm_corrupt_dump, 135: {{{offset}, {size}, {wanted:#x}}}: (chunk 1 of 4): {chunk}",
        )
        self.wired(
            context,
            -31802,
            f"{where}: __wt_block_read_off, 292: {file}: fatal read error: WT_ERROR: non-specific WiredTiger error",
        )
        self.panic(context, f"{where}: __wt_block_read_off, 292")

    def panic(self, context: str, where: str) -> None:
        """The library gives up, and the server with it."""
        self.wired(context, -31804, f"{where}: the process must exit and restart: WT_PANIC: WiredTiger library panic")
        self.say("F", "-", 23089, context, "Fatal assertion", {"msgid": 50853, "file": _FASSERT, "line": 481})
        self._abort(context, 23090, "\n\n***aborting after fassert() failure\n\n")

    def invariant(self, context: str, error: str) -> None:
        """A read failed where the server cannot go on without it."""
        number, text = ERRNO[error]
        attr = {
            "expr": "ret",
            "error": f"UnknownError: {number}: {text}",
            "file": "src/mongo/db/storage/wiredtiger/wiredtiger_record_store.cpp",
            "line": 1175,
        }
        self.say("F", "-", 23083, context, "Invariant failure", attr)
        self._abort(context, 23084, "\n\n***aborting after invariant() failure\n\n")

    def _abort(self, context: str, number: int, message: str) -> None:
        self.say("F", "-", number, context, message)
        attr = {"message": "Got signal: 6 (Aborted).\n"}
        self.say("F", "CONTROL", 4757800, context, "Writing fatal message", attr)


def line_of(
    when: str,
    level: str,
    component: str,
    number: int,
    context: str,
    message: str,
    attr: Mapping[str, Any] | None,
) -> str:
    """One line of the log."""
    head = f'"s":"{level}",  "c":{json.dumps(component) + ",":<12}"id":{str(number) + ",":<9}"ctx":"{context}"'
    tail = "" if attr is None else f',"attr":{json.dumps(attr, separators=(",", ":"))}'
    return f'{{"t":{{"$date":"{when}"}},{head},"msg":{json.dumps(message)}{tail}}}'


def slow_attributes(command: str, space: str, described: DataSet, io: IoModel) -> dict[str, Any]:
    """The `attr` of a slow operation's line, as 4.4 prints it, durations as marks; without values of clients."""
    database, _, table = space.partition(".")
    attr: dict[str, Any] = {"type": "command", "ns": space, "command": {command: table, "$db": database}}
    documents = max(1, round(io.reads))
    if command in ("find", "count", "aggregate", "distinct"):
        keyed = "IDHACK" if described.key == "_id" else f"IXSCAN {{ {described.key}: 1 }}"
        attr["planSummary"] = "COLLSCAN" if io.scan else keyed
        examined = max(documents, io.scan // described.document)
        attr |= {"keysExamined": 0 if io.scan else documents, "docsExamined": examined, "cursorExhausted": True}
        attr |= {"numYields": 1 + documents // 128, "nreturned": documents}
        attr["reslen"] = 110 + documents * described.document
    else:
        attr |= {"ninserted": 1, "keysInserted": 2} if command == "insert" else {"nMatched": 1, "nModified": 1}
        attr |= {"numYields": 0, "reslen": 45}
    intent = "w" if io.writes else "r"
    attr["locks"] = {name: {"acquireCount": {"r" if name == "Mutex" else intent: 1}} for name in _LOCKS}
    if io.writes:
        attr["flowControl"] = {"acquireCount": 1, "timeAcquiringMicros": 1}
    attr["storage"] = {"data": {"bytesRead": documents * _PAGE, "timeReadingMicros": "{latency_us}"}}
    return attr | {"protocol": "op_query", "durationMillis": "{latency_ms}"}
