"""What programs print when the kernel has nothing left for them: descriptors, processes, shared memory.

The texts are those of Go's net/http and runtime, nginx, asyncio, CPython, Node, gRPC core, PostgreSQL, MySQL, Redis,
MongoDB and Kestrel; those of JVMs are in `jvm`. Programs that say nothing of a failed accept by themselves (grpc-go,
Node's libuv, memcached without -v) are silent. Who cannot start a process or write a file ends: nobody handles that.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.engine import format_rfc3339
from simcluster.models.apps import jvm
from simcluster.models.apps.behaviour import Behaviour

_GO = {"EMFILE": "accept4: too many open files", "ENFILE": "accept4: too many open files in system"}
_C = {"EMFILE": "Too many open files", "ENFILE": "Too many open files in system"}
_NUMBER = {"EMFILE": 24, "ENFILE": 23}
_NGINX = ("nginx", "nginx-unprivileged", "nginx-ingress-controller")
_STORES = {
    "postgres": "{stamp} UTC [1] LOG:  could not accept new connection: {text}",
    "mysqld": "{iso} 0 [ERROR] [MY-010283] [Server] Error in accept: {text}",
    "mariadbd": "{stamp} 0 [ERROR] Error in accept: {text}",
    "redis-server": "1:M {stamp} # Accepting client connection: accept: {text}",
    "valkey-server": "1:M {stamp} # Accepting client connection: accept: {text}",
    "mongod": '{{"t":{{"$date":"{iso}"}},"s":"E","c":"NETWORK","id":23019,"ctx":"listener","msg":"Error accepting new'
    ' connection on local endpoint","attr":{{"error":"{text}"}}}}',
}
_SILENT = ("memcached",)


def accept_failed(behaviour: Behaviour, port: int, errno: str, now_ns: int) -> str:
    """The line about a failed accept, or "" if the program prints none."""
    stamp = format_rfc3339(now_ns)
    day, clock = stamp[:10], stamp[11:19]
    text = _C.get(errno, _C["EMFILE"])
    program = behaviour.program
    if program in _STORES:
        return _STORES[program].format(stamp=f"{day} {clock}", iso=format_rfc3339(now_ns, digits=6), text=text)
    if program in _NGINX:
        return f"{day.replace('-', '/')} {clock} [crit] 1#1: accept4() failed ({_NUMBER.get(errno, 24)}: {text})"
    if program in _SILENT or behaviour.client == "node-grpc":
        return ""
    return _of_language(behaviour, port, errno, now_ns)


def _of_language(behaviour: Behaviour, port: int, errno: str, now_ns: int) -> str:
    stamp, text = format_rfc3339(now_ns), _C.get(errno, _C["EMFILE"])
    day, clock = stamp[:10], stamp[11:19]
    if behaviour.program == "python" or behaviour.client == "python-grpc":
        return f"OSError: [Errno {_NUMBER.get(errno, 24)}] {text}"
    if behaviour.program == "java" or behaviour.client == "java-grpc":
        return jvm.accept_failed(text, now_ns, grpc=behaviour.protocol == "grpc")
    if behaviour.client == "stackexchange-redis":
        return f"System.Net.Sockets.SocketException ({_NUMBER.get(errno, 24)}): {text}"
    if behaviour.protocol == "grpc":
        return ""
    accept = _GO.get(errno, _GO["EMFILE"])
    return f"{day.replace('-', '/')} {clock} http: Accept error: accept tcp [::]:{port}: {accept}; retrying in 1s"


class LastWords(NamedTuple):
    """What a program prints before it ends, and its exit code."""

    lines: tuple[str, ...]
    exit_code: int


#: Error -> its number and text (asm-generic/errno-base.h, glibc).
_NUMBERS = {"EAGAIN": 11, "ENOSPC": 28}
_TEXTS = {"EAGAIN": "Resource temporarily unavailable", "ENOSPC": "No space left on device"}
#: What it starts, and where it writes.
_CHILD, _FILE = "/usr/bin/convert", "/dev/shm/render.cache"


def last_words(behaviour: Behaviour, call: str, errno: str) -> LastWords:
    """How a program ends that is refused `fork` (EAGAIN) or `write` (ENOSPC)."""
    number, text, client = _NUMBERS[errno], _TEXTS[errno], behaviour.client
    if client == "node-grpc":
        return _node(call, errno, number, text)
    if behaviour.program in ("python", "python3") or client == "python-grpc":
        kind = "BlockingIOError" if call == "fork" else "OSError"
        head = "Traceback (most recent call last):"
        return LastWords((head, f"{kind}: [Errno {number}] {text}"), 1)
    if behaviour.program == "java" or client == "java-grpc":
        return LastWords(jvm.not_started(_CHILD, number, text) if call == "fork" else jvm.not_written(text), 1)
    if behaviour.program in _STORES or behaviour.program in _NGINX or behaviour.program in _SILENT:
        return LastWords((f"{behaviour.program}: {text}",), 1)
    what = f"fork/exec {_CHILD}" if call == "fork" else f"write {_FILE}"
    return LastWords((f"panic: {what}: {text.lower()}", "", "goroutine 1 [running]:"), 2)


def _node(call: str, errno: str, number: int, text: str) -> LastWords:
    if call == "fork":
        return LastWords(
            (
                "node:events:497",
                "      throw er; // Unhandled 'error' event",
                "      ^",
                "",
                f"Error: spawn {_CHILD} {errno}",
                "    at ChildProcess._handle.onexit (node:internal/child_process:286:19)",
                "    at onErrorNT (node:internal/child_process:484:16)",
                f"  errno: -{number},",
                f"  code: '{errno}',",
                f"  syscall: 'spawn {_CHILD}',",
                f"  path: '{_CHILD}'",
            ),
            1,
        )
    return LastWords(
        (
            "node:internal/process/promises:288",
            f"[Error: {errno}: {text.lower()}, write] {{",
            f"  errno: -{number},",
            f"  code: '{errno}',",
            "  syscall: 'write'",
            "}",
        ),
        1,
    )
