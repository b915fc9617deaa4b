"""What programs print when they cannot accept connections for want of descriptors.

The texts are those of Go's net/http, nginx, asyncio, gRPC core, PostgreSQL, MySQL, Redis, MongoDB, HotSpot's
Tomcat and Kestrel. Programs that say nothing by themselves (grpc-go, Node's libuv, memcached without -v) are silent.
"""

from __future__ import annotations

from simcluster.engine import format_rfc3339
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
        return f"java.io.IOException: {text}"
    if behaviour.client == "stackexchange-redis":
        return f"System.Net.Sockets.SocketException ({_NUMBER.get(errno, 24)}): {text}"
    if behaviour.protocol == "grpc":
        return ""
    accept = _GO.get(errno, _GO["EMFILE"])
    return f"{day.replace('-', '/')} {clock} http: Accept error: accept tcp [::]:{port}: {accept}; retrying in 1s"
