"""How clients of C++ programs, of OpenResty, psycopg2 and sarama word a call that failed.

Apache Thrift's TSocket, libmongoc, redis-plus-plus over hiredis, libmemcached, lua-resty's Thrift binding over
nginx's cosockets, psycopg2 over libpq, PyMySQL, and IBM's sarama; what Spring's clients say is in `springwording`.
The texts are those of the libraries' sources; libmongoc tries a server for `serverSelectionTimeoutMS` and then says
what it met.
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.models.apps import springwording
from simcluster.models.traffic.cluster.causes import (
    DEADLINE,
    DNS_TIMEOUT,
    NO_SUCH_HOST,
    PROTOCOL,
    REFUSED,
    RESET,
    TIMEOUT,
    UNCONNECTED,
    UNKNOWN,
    Cause,
)

#: What a connection that never stood is reported as.
UNREACHED = (REFUSED, TIMEOUT, NO_SUCH_HOST, DNS_TIMEOUT, UNCONNECTED)

_SELECTION = "No suitable servers found (`serverSelectionTryOnce` set): [{why}]"
_LIBPQ = 'connection to server at "{host}" ({address}), port {port} failed: {why}'
_PYMYSQL = "(2003, \"Can't connect to MySQL server on '{host}' ({why})\")"
_LUA = "TTransportException:0 Could not connect to {host}:{port} ({why})"
_WORDS: Mapping[str, Mapping[str, str]] = {
    "thrift-cpp": {
        REFUSED: "connect() failed: Connection refused",
        TIMEOUT: "connect() failed: Connection timed out",
        NO_SUCH_HOST: "Could not resolve host for client socket.",
        DNS_TIMEOUT: "Could not resolve host for client socket.",
        UNCONNECTED: "socket() failed: Too many open files",
        DEADLINE: "EAGAIN (timed out)",
        UNKNOWN: "Invalid method name: '{operation}'",
        PROTOCOL: "Frame size has negative value",
        RESET: "No more data to read.",
    },
    "thrift-lua": {
        REFUSED: _LUA.replace("{why}", "connection refused"),
        TIMEOUT: _LUA.replace("{why}", "timeout"),
        NO_SUCH_HOST: _LUA.replace("{why}", "{host} could not be resolved (3: Host not found)"),
        DNS_TIMEOUT: _LUA.replace("{why}", "{host} could not be resolved (110: Operation timed out)"),
        UNCONNECTED: _LUA.replace("{why}", "too many open files"),
        DEADLINE: "TTransportException:0 Default (unknown)",
        UNKNOWN: "TApplicationException:1 Invalid method name: '{operation}'",
        PROTOCOL: "TProtocolException:4 Bad version",
        RESET: "TTransportException:4 closed",
    },
    "mongoc": {
        REFUSED: _SELECTION.replace("{why}", "connection refused calling ismaster on '{host}:{port}'"),
        TIMEOUT: _SELECTION.replace("{why}", "connection timeout calling ismaster on '{host}:{port}'"),
        NO_SUCH_HOST: _SELECTION.replace("{why}", "Failed to resolve '{host}'"),
        DNS_TIMEOUT: _SELECTION.replace("{why}", "Failed to resolve '{host}'"),
        UNCONNECTED: _SELECTION.replace("{why}", "socket error calling ismaster on '{host}:{port}'"),
        PROTOCOL: _SELECTION.replace("{why}", "connection closed calling ismaster on '{host}:{port}'"),
        UNKNOWN: _SELECTION.replace("{why}", "connection closed calling ismaster on '{host}:{port}'"),
        DEADLINE: "Failed to read 4 bytes: socket error or timeout",
        RESET: "Failed to read 4 bytes: socket error or timeout",
    },
    "redis-plus-plus": {
        REFUSED: "Failed to connect to Redis: Connection refused",
        TIMEOUT: "Failed to connect to Redis: Connection timed out",
        NO_SUCH_HOST: "Failed to connect to Redis: Name or service not known",
        DNS_TIMEOUT: "Failed to connect to Redis: Temporary failure in name resolution",
        UNCONNECTED: "Failed to connect to Redis: Cannot assign requested address",
        DEADLINE: "Failed to get reply: Resource temporarily unavailable",
        UNKNOWN: 'Failed to get reply: Protocol error, got "H" as reply type byte',
        PROTOCOL: 'Failed to get reply: Protocol error, got "H" as reply type byte',
        RESET: "Failed to get reply: Server closed the connection",
    },
    "libmemcached": {
        REFUSED: "SERVER HAS FAILED AND IS DISABLED UNTIL TIMED RETRY",
        TIMEOUT: "SERVER HAS FAILED AND IS DISABLED UNTIL TIMED RETRY",
        NO_SUCH_HOST: "getaddrinfo() or getnameinfo() HOSTNAME LOOKUP FAILURE",
        DNS_TIMEOUT: "getaddrinfo() or getnameinfo() HOSTNAME LOOKUP FAILURE",
        UNCONNECTED: "CONNECTION FAILURE",
        DEADLINE: "A TIMEOUT OCCURRED",
        UNKNOWN: "PROTOCOL ERROR",
        PROTOCOL: "PROTOCOL ERROR",
        RESET: "CONNECTION FAILURE",
    },
    "psycopg2": {
        REFUSED: _LIBPQ.replace(
            "{why}", "Connection refused\n\tIs the server running on that host and accepting TCP/IP connections?"
        ),
        TIMEOUT: _LIBPQ.replace(
            "{why}", "Connection timed out\n\tIs the server running on that host and accepting TCP/IP connections?"
        ),
        NO_SUCH_HOST: 'could not translate host name "{host}" to address: Name or service not known',
        DNS_TIMEOUT: 'could not translate host name "{host}" to address: Temporary failure in name resolution',
        UNCONNECTED: _LIBPQ.replace("{why}", "Cannot assign requested address"),
        PROTOCOL: _LIBPQ.replace("{why}", "received invalid response to SSL negotiation: H"),
        UNKNOWN: _LIBPQ.replace("{why}", "received invalid response to SSL negotiation: H"),
        DEADLINE: "server closed the connection unexpectedly",
        RESET: "server closed the connection unexpectedly",
    },
    "pymysql": {
        REFUSED: _PYMYSQL.replace("{why}", "[Errno 111] Connection refused"),
        TIMEOUT: _PYMYSQL.replace("{why}", "timed out"),
        NO_SUCH_HOST: _PYMYSQL.replace("{why}", "[Errno -2] Name or service not known"),
        DNS_TIMEOUT: _PYMYSQL.replace("{why}", "[Errno -3] Temporary failure in name resolution"),
        UNCONNECTED: _PYMYSQL.replace("{why}", "[Errno 99] Cannot assign requested address"),
        DEADLINE: "(2013, 'Lost connection to MySQL server during query (timed out)')",
        PROTOCOL: "(2013, 'Lost connection to MySQL server during query')",
        UNKNOWN: "(2013, 'Lost connection to MySQL server during query')",
        RESET: "(2013, 'Lost connection to MySQL server during query')",
    },
    "sarama": {
        REFUSED: "kafka: client has run out of available brokers to talk to: dial tcp {address}:{port}: "
        "connect: connection refused",
        TIMEOUT: "kafka: client has run out of available brokers to talk to: dial tcp {address}:{port}: i/o timeout",
        NO_SUCH_HOST: "kafka: client has run out of available brokers to talk to: dial tcp: lookup {host}: "
        "no such host",
        RESET: "kafka: client has run out of available brokers to talk to: EOF",
    },
    **springwording.WORDS,
}
#: The clients whose words stand here.
CLIENTS = tuple(_WORDS)


def words(client: str, cause: Cause) -> str:
    """What a client says of a cause for which the server itself had no words.

    >>> words("redis-plus-plus", Cause(REFUSED, "home-timeline-redis", 6379))
    'Failed to connect to Redis: Connection refused'
    """
    known = _WORDS[client]
    template = known.get(cause.kind, known[RESET])
    if cause.text == "EOF":  # hung up on while it introduced itself
        template = known[PROTOCOL] if client == "mongoc" else known[RESET]
    operation = cause.path[-1].operation if cause.path else ""
    service = cause.path[-1].env.partition("#")[0] if cause.path else cause.host
    where = (("{host}", cause.host), ("{address}", cause.address), ("{port}", str(cause.port)))
    for mark, value in (*where, ("{operation}", operation), ("{service}", service)):
        template = template.replace(mark, value)
    return template
