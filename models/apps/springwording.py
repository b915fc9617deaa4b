"""How clients of Spring programs word a call that failed: RestTemplate, WebFlux over Netty, Connector/J behind HikariCP
and Hibernate, and the AMQP client; and nginx, which often stands before them.

The texts are those of the libraries (Spring 5.3, Netty 4.1, Connector/J 8.0, amqp-client 5, nginx 1.19).
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.models.traffic.cluster.causes import (
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
)

_REST = (
    'org.springframework.web.client.ResourceAccessException: I/O error on GET request for "http://{service}": '
    "{why}; nested exception is {class}: {why}"
)
#: What a client is told by a program of Spring Boot whose handler threw.
ANSWER = (
    'org.springframework.web.client.HttpServerErrorException$InternalServerError: 500 : "{"timestamp":"{time_ms}",'
    '"status":500,"error":"Internal Server Error","path":"/"}"'
)
_LINK = (
    "org.springframework.transaction.CannotCreateTransactionException: Could not open JPA EntityManager for "
    "transaction; nested exception is org.hibernate.exception.JDBCConnectionException: Unable to acquire JDBC "
    "Connection"
)
_NETTY = "io.netty.channel.{class}: {why}"
_UPSTREAM = "{why} while connecting to upstream"


def _rest(why: str, kind: str) -> str:
    return _REST.replace("{why}", why).replace("{class}", kind)


def _netty(why: str, kind: str) -> str:
    return _NETTY.replace("{why}", why).replace("{class}", kind)


def _nginx(why: str) -> str:
    return _UPSTREAM.replace("{why}", why)


WORDS: Mapping[str, Mapping[str, str]] = {
    "spring-rest": {
        REFUSED: _rest("Connection refused (Connection refused)", "java.net.ConnectException"),
        TIMEOUT: _rest("Connection timed out (Connection timed out)", "java.net.ConnectException"),
        NO_SUCH_HOST: "java.lang.IllegalStateException: Service Instance cannot be null, serviceId: {service}",
        DNS_TIMEOUT: _rest("{service}: Temporary failure in name resolution", "java.net.UnknownHostException"),
        UNCONNECTED: _rest("Too many open files", "java.net.SocketException"),
        DEADLINE: _rest("Read timed out", "java.net.SocketTimeoutException"),
        UNKNOWN: "org.springframework.web.client.HttpClientErrorException$NotFound: 404 : [no body]",
        PROTOCOL: _rest("Unexpected end of file from server", "java.net.SocketException"),
        RESET: _rest("Connection reset", "java.net.SocketException"),
        STATUS: ANSWER,
    },
    "spring-webflux": {
        REFUSED: _netty("Connection refused: /{address}:{port}", "AbstractChannel$AnnotatedConnectException"),
        TIMEOUT: _netty("connection timed out: /{address}:{port}", "ConnectTimeoutException"),
        NO_SUCH_HOST: 'org.springframework.cloud.gateway.support.NotFoundException: 503 SERVICE_UNAVAILABLE "Unable to '
        'find instance for {service}"',
        DNS_TIMEOUT: "java.net.UnknownHostException: Failed to resolve '{host}' after 2 queries",
        UNCONNECTED: _netty("Too many open files", "unix.Errors$NativeIoException"),
        DEADLINE: "io.netty.handler.timeout.ReadTimeoutException",
        UNKNOWN: "org.springframework.web.server.ResponseStatusException: 404 NOT_FOUND",
        RESET: _netty("Connection reset by peer", "unix.Errors$NativeIoException"),
        STATUS: "500 Internal Server Error",
    },
    "mysql-cj": {
        REFUSED: _LINK,
        TIMEOUT: _LINK,
        NO_SUCH_HOST: _LINK,
        DNS_TIMEOUT: _LINK,
        UNCONNECTED: _LINK,
        DEADLINE: _LINK,
        PROTOCOL: _LINK,
        UNKNOWN: _LINK,
        RESET: _LINK,
    },
    "amqp-java": {
        REFUSED: "org.springframework.amqp.AmqpConnectException: java.net.ConnectException: Connection refused",
        TIMEOUT: "org.springframework.amqp.AmqpConnectException: java.net.SocketTimeoutException: connect timed out",
        NO_SUCH_HOST: "org.springframework.amqp.AmqpIOException: java.net.UnknownHostException: {host}",
        DNS_TIMEOUT: "org.springframework.amqp.AmqpIOException: java.net.UnknownHostException: {host}",
        RESET: "org.springframework.amqp.AmqpIOException: java.io.IOException",
    },
    "nginx": {
        REFUSED: _nginx("connect() failed (111: Connection refused)"),
        TIMEOUT: _nginx("upstream timed out (110: Operation timed out)"),
        NO_SUCH_HOST: _nginx("connect() failed (113: Host is unreachable)"),
        DEADLINE: "upstream timed out (110: Operation timed out) while reading response header from upstream",
        RESET: "recv() failed (104: Connection reset by peer) while reading response header from upstream",
    },
}
