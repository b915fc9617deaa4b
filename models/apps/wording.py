"""How clients in different languages word a call that failed.

The texts are what these libraries print: grpc-go, grpcio, @grpc/grpc-js, grpc-java and
StackExchange.Redis 2.7.27, as seen in logs of Online Boutique v0.10.3.
"""

from __future__ import annotations

from simcluster.models.apps import nativewording
from simcluster.models.traffic.cluster.causes import (
    BROKEN,
    DEADLINE,
    DNS_TIMEOUT,
    NO_SUCH_HOST,
    PROTOCOL,
    REFUSED,
    RESET,
    STATUS,
    TIMEOUT,
    UNCONNECTED,
    UNKNOWN,
    Cause,
)

#: What Go's net package and strerror say when the caller's own kernel has no port or descriptor left.
LOCAL_ERRORS = {
    "EADDRNOTAVAIL": ("connect: cannot assign requested address", "Cannot assign requested address"),
    "EMFILE": ("socket: too many open files", "Too many open files"),
    "ENFILE": ("socket: too many open files in system", "Too many open files in system"),
    "ECONNREFUSED": ("connect: connection refused", "Connection refused"),
}
#: Address of the cluster's DNS server, as `lookup NAME on ADDRESS:53` shows it.
DNS_SERVER = "10.96.0.10:53"

_GO_DIAL = 'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: {dial}"'
_GO = {
    DEADLINE: "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    RESET: "rpc error: code = Unavailable desc = error reading from server: read tcp: connection reset by peer",
    BROKEN: "circuit breaker is open",
    STATUS: "rpc error: code = Internal desc = internal error",
    PROTOCOL: 'rpc error: code = Unavailable desc = connection error: desc = "error reading server preface: '
    'http2: frame too large"',
}
#: How grpc-go words a status, and its codes as others number and name them (grpc/status.proto).
_GO_STATUS = "rpc error: code = "
_NUMBERS = {
    "Unknown": (2, "UNKNOWN"),
    "DeadlineExceeded": (4, "DEADLINE_EXCEEDED"),
    "NotFound": (5, "NOT_FOUND"),
    "FailedPrecondition": (9, "FAILED_PRECONDITION"),
    "Unimplemented": (12, "UNIMPLEMENTED"),
    "Internal": (13, "INTERNAL"),
    "Unavailable": (14, "UNAVAILABLE"),
}
_PYTHON = (
    "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.{status}\n"
    '\tdetails = "{details}"\n\tdebug_error_string = "UNKNOWN:{details} {{grpc_status:{number}}}"\n>'
)
_PYTHON_DIAL = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:{where}: Failed to connect to remote host: {why}"
)
_REDIS = (
    "StackExchange.Redis.RedisConnectionException: The message timed out in the backlog attempting to send because "
    "no connection became available (5000ms) - Last Connection Exception: {last}, command=HMGET, timeout: 5000, "
    "inst: 0, qu: 0, qs: 0, aw: False, bw: CheckingForTimeout"
)
_REDIS_NEVER = (
    "UnableToConnect on {host}:{port}/Interactive, Initializing/NotStarted, last: NONE, origin: BeginConnectAsync, "
    "outstanding: 0, last-read: 0s ago, last-write: 0s ago, keep-alive: 60s, state: Connecting, "
    "mgr: 10 of 10 available, last-heartbeat: never, global: 0s ago, v: 2.7.27.49176"
)


#: What clients put before the words of a store that answered with an error.
_ANSWERED = {
    "stackexchange-redis": "StackExchange.Redis.RedisServerException: ",
    "postgres-go": "pq: ",
    "memcache-go": "memcache: unexpected line: ",
}
_STORE_WORDS = {
    "mgo": "EOF",
    "postgres-go": "driver: bad connection",
    "mysql-go": "invalid connection",
    "redis-go": "EOF",
    "memcache-go": "EOF",
}


def describe(cause: Cause) -> str:
    """What the outermost caller of the chain is told.

    The innermost client words the failure; each caller above wraps it in the answer it
    gives (`failed to charge card: {cause}`).
    """
    innermost = cause.path[-1]
    text = _transport(innermost.client, cause)
    for caller, call in zip(reversed(cause.path[:-1]), reversed(cause.path[1:]), strict=True):
        text = _as_heard(caller.client, call.answer.replace("{cause}", text))
    return text


def _as_heard(client: str, text: str) -> str:
    """A status of gRPC in the words of the client that is given it; other texts as they are.

    >>> _as_heard("node-grpc", "rpc error: code = Internal desc = no card")
    '13 INTERNAL: no card'
    """
    code, found, details = text.removeprefix(_GO_STATUS).partition(" desc = ")
    if not text.startswith(_GO_STATUS) or not found or code not in _NUMBERS:
        return text
    number, name = _NUMBERS[code]
    if client == "node-grpc":
        return f"{number} {name}: {details}"
    if client == "python-grpc":
        return _PYTHON.format(status=name, details=details, number=number)
    return f"{name}: {details}" if client == "java-grpc" else text


def _transport(client: str, cause: Cause) -> str:
    where = f"{cause.address}:{cause.port}"
    if client in nativewording.CLIENTS and (cause.kind == UNCONNECTED or cause.text in ("", "EOF")):
        return nativewording.words(client, cause)
    if cause.text and cause.kind != UNCONNECTED:
        return _as_heard(client, _ANSWERED.get(client, "") + cause.text)
    if client in _STORE_WORDS:
        return _store(client, cause, where)
    if client == "stackexchange-redis":
        if cause.kind == UNCONNECTED:
            return _REDIS.format(last=LOCAL_ERRORS[cause.text][1])
        if cause.kind == UNKNOWN:
            return _REDIS.format(last="ProtocolFailure")
        if cause.kind == TIMEOUT:
            return _REDIS.format(last="It was not possible to connect to the redis server(s). ConnectTimeout")
        return _REDIS.format(last=_REDIS_NEVER.format(host=cause.host, port=cause.port))
    if client == "python-grpc":
        return _python(cause, where)
    if client == "node-grpc":
        return _node(cause, where)
    if client == "http":
        return _go_http(cause, where)
    if cause.kind == UNKNOWN:
        return f"rpc error: code = Unimplemented desc = unknown method {cause.path[-1].operation}"
    dial = _go_dial(cause, where)
    return _GO_DIAL.format(dial=dial) if dial else _GO[cause.kind]


def _store(client: str, cause: Cause, where: str) -> str:
    """How Go's drivers of stores word it: mgo, lib/pq, go-sql-driver, go-redis, gomemcache."""
    dial = _go_dial(cause, where)
    if dial:
        return "no reachable servers" if client == "mgo" else dial
    if cause.kind == DEADLINE:
        late = {"memcache-go": "memcache: connect timeout", "mgo": f"read tcp {where}: i/o timeout"}
        return late.get(client, "context deadline exceeded")
    return _STORE_WORDS[client]


def _go_dial(cause: Cause, where: str) -> str:
    """Go's net.OpError for a connection that did not come about; "" if it did."""
    if cause.kind == NO_SUCH_HOST:
        return (
            f"dial tcp: lookup {cause.host} on {DNS_SERVER}: no such host"
            if cause.host
            else "dial tcp: missing address"
        )
    if cause.kind == DNS_TIMEOUT:
        # The local port differs from try to try; here it follows from the name.
        port = 32768 + sum(cause.host.encode()) * 97 % 28232  # integers
        local = f"{cause.address or '10.244.0.1'}:{port}"
        return f"dial tcp: lookup {cause.host} on {DNS_SERVER}: read udp {local}->{DNS_SERVER}: i/o timeout"
    if cause.kind == REFUSED:
        return f"dial tcp {where}: connect: connection refused"
    if cause.kind == TIMEOUT:
        return f"dial tcp {where}: i/o timeout"
    if cause.kind == UNCONNECTED:
        return f"dial tcp {where}: {LOCAL_ERRORS[cause.text][0]}"
    return ""


def _go_http(cause: Cause, where: str) -> str:
    dial = _go_dial(cause, where)
    url = f'Get "http://{cause.host}:{cause.port}/"'
    if dial:
        return f"{url}: {dial}"
    if cause.kind == UNKNOWN:
        return "404 Not Found"
    if cause.kind == DEADLINE:
        return f"{url}: context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    return f"{url}: EOF"


def _python(cause: Cause, where: str) -> str:
    if cause.kind == UNKNOWN:
        return _PYTHON.format(status="UNIMPLEMENTED", details="Method not found!", number=12)
    if cause.kind == DEADLINE:
        return _PYTHON.format(status="DEADLINE_EXCEEDED", details="Deadline Exceeded", number=4)
    if cause.kind == NO_SUCH_HOST:
        details = (
            f"DNS resolution failed for {cause.host}:{cause.port}: C-ares status is not ARES_SUCCESS qtype=A "
            f"name={cause.host} is_balancer=0: Domain name not found"
        )
    elif cause.kind == DNS_TIMEOUT:
        details = (
            f"DNS resolution failed for {cause.host}:{cause.port}: C-ares status is not ARES_SUCCESS qtype=A "
            f"name={cause.host} is_balancer=0: Timeout while contacting DNS servers"
        )
    elif cause.kind == TIMEOUT:
        details = _PYTHON_DIAL.format(where=where, why="connect: Connection timed out (110)")
    elif cause.kind == REFUSED:
        details = _PYTHON_DIAL.format(where=where, why="Connection refused")
    elif cause.kind == UNCONNECTED:
        details = _PYTHON_DIAL.format(where=where, why=LOCAL_ERRORS[cause.text][1])
    else:
        details = "Socket closed"
    return _PYTHON.format(status="UNAVAILABLE", details=details, number=14)


def _node(cause: Cause, where: str) -> str:
    if cause.kind == UNKNOWN:
        return f"12 UNIMPLEMENTED: The server does not implement the method {cause.path[-1].operation}"
    if cause.kind == DEADLINE:
        return "4 DEADLINE_EXCEEDED: Deadline exceeded"
    if cause.kind in (NO_SUCH_HOST, DNS_TIMEOUT):
        return f"14 UNAVAILABLE: Name resolution failed for target dns:{cause.host}:{cause.port}"
    if cause.kind == UNCONNECTED:
        return f"14 UNAVAILABLE: No connection established. Last error: connect {cause.text} {where}"
    why = {REFUSED: f"connect ECONNREFUSED {where}", TIMEOUT: f"connect ETIMEDOUT {where}"}.get(
        cause.kind, "read ECONNRESET"
    )
    return f"14 UNAVAILABLE: No connection established. Last error: {why}"
