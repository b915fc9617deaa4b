"""Log lines of Spring Boot's programs: names of threads, errors of the database as Hibernate tells them, stack traces.

Frames are those of Connector/J 8.0.33, HikariCP 4, Hibernate 5.6 and Spring 5.3; of each trace the first lines.
"""

from __future__ import annotations

import re

from simcluster.engine.streams import uniform_at
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.marks import Spoken, day_time
from simcluster.models.traffic.cluster.causes import NO_SUCH_HOST, STATUS, UNKNOWN
from simcluster.models.traffic.cluster.operations import LogTemplate

#: Columns of Spring Boot's console: level, thread, logger.
_LINE = "{stamp} {level:>5} 1 --- [{thread}] {logger:<40.40} : {text}"
_REFUSED = re.compile(r"Error (\d+) \((\w+)\): (.*)", re.S)
_HIBERNATE = "o.h.engine.jdbc.spi.SqlExceptionHelper"
_DRIVER = """\
\tat com.mysql.cj.jdbc.exceptions.SQLError.createSQLException(SQLError.java:130) \
~[mysql-connector-j-8.0.33.jar!/:8.0.33]
\tat com.mysql.cj.jdbc.exceptions.SQLExceptionsMapping.translateException(SQLExceptionsMapping.java:122) \
~[mysql-connector-j-8.0.33.jar!/:8.0.33]
\tat com.mysql.cj.jdbc.ConnectionImpl.createNewIO(ConnectionImpl.java:825) ~[mysql-connector-j-8.0.33.jar!/:8.0.33]
\tat com.mysql.cj.jdbc.ConnectionImpl.<init>(ConnectionImpl.java:446) ~[mysql-connector-j-8.0.33.jar!/:8.0.33]
\tat com.mysql.cj.jdbc.NonRegisteringDriver.connect(NonRegisteringDriver.java:198) \
~[mysql-connector-j-8.0.33.jar!/:8.0.33]
\tat com.zaxxer.hikari.pool.PoolBase.newConnection(PoolBase.java:364) ~[HikariCP-4.0.3.jar!/:na]"""
_FACTORY = (
    "[PersistenceUnit: default] Unable to build Hibernate SessionFactory; nested exception is "
    "org.hibernate.exception.{exception}: Unable to open JDBC Connection for DDL execution"
)
_BEAN = (
    "org.springframework.beans.factory.BeanCreationException: Error creating bean with name 'entityManagerFactory' "
    "defined in class path resource [org/springframework/boot/autoconfigure/orm/jpa/HibernateJpaConfiguration.class]: "
    "Invocation of init method failed; nested exception is javax.persistence.PersistenceException: "
)


class Failure:
    """Why the pool has no connection: the exceptions of the driver and of Hibernate, number and state, the cause."""

    def __init__(self, exception: str, text: str, number: int, state: str, cause: str = "") -> None:
        self.exception = exception
        self.text = text
        self.number = number
        self.state = state
        self.cause = cause

    @property
    def hibernate(self) -> str:
        """What Hibernate makes of it."""
        return "JDBCConnectionException" if self.state.startswith("08") else "GenericJDBCException"


def failure_of(outcome: str, refusal: str, host: str) -> Failure | None:
    """What a driver throws that has met this; None if it is connected."""
    found = _REFUSED.match(refusal)
    if found is not None:
        too_many = found[1] == "1040"
        kind = "java.sql.SQLNonTransientConnectionException" if too_many else "java.sql.SQLException"
        return Failure(kind, found[3], int(found[1]), "08004" if too_many else found[2])
    if outcome == "ok":
        return None
    text = "Communications link failure"
    cause = {
        "refused": "java.net.ConnectException: Connection refused (Connection refused)",
        "timeout": "java.net.ConnectException: Connection timed out (Connection timed out)",
    }.get(outcome, f"java.net.UnknownHostException: {host}: Name or service not known")
    return Failure("com.mysql.cj.jdbc.exceptions.CommunicationsException", text, 0, "08S01", cause)


def line(now_ns: int, level: str, thread: str, logger: str, text: str) -> str:
    """One line of Spring Boot's console.

    >>> line(0, "INFO", "main", "a.B", "up")
    '2026-03-02 09:00:00.000  INFO 1 --- [           main] a.B                                      : up'
    """
    return _LINE.format(stamp=day_time(now_ns, "."), level=level, thread=thread_name(thread), logger=logger, text=text)


def thread_name(name: str) -> str:
    """The last fifteen characters, as the console shows them.

    >>> thread_name("http-nio-14568-exec-4"), thread_name("main")
    ('io-14568-exec-4', '           main')
    """
    return f"{name[-15:]:>15}"


def pool_failed(now_ns: int, failure: Failure) -> str:
    """HikariCP could not open its first connection."""
    head = line(now_ns, "ERROR", "main", "com.zaxxer.hikari.pool.HikariPool",
                "HikariPool-1 - Exception during pool initialization.")  # fmt: skip
    return f"{head}\n\n{_thrown(failure)}"


def run_failed(now_ns: int, failure: Failure) -> str:
    """The application does not start."""
    factory = _FACTORY.format(exception=failure.hibernate)
    warned = ("Exception encountered during context initialization - cancelling refresh attempt: "
              f"{_BEAN}{factory}")  # fmt: skip
    failed = line(now_ns, "ERROR", "main", "o.s.boot.SpringApplication", "Application run failed")
    return "\n".join(
        (
            line(now_ns, "WARN", "main", _HIBERNATE, f"SQL Error: {failure.number}, SQLState: {failure.state}"),
            line(now_ns, "ERROR", "main", _HIBERNATE, failure.text),
            line(now_ns, "ERROR", "main", "j.LocalContainerEntityManagerFactoryBean",
                 f"Failed to initialize JPA EntityManagerFactory: {factory}"),
            line(now_ns, "WARN", "main", "ConfigServletWebServerApplicationContext", warned),
            "",
            "Error starting ApplicationContext. To display the conditions report re-run your application with 'debug' "
            "enabled.",
            failed,
            "",
            f"{_BEAN}{factory}",
            f"Caused by: javax.persistence.PersistenceException: {factory}",
            f"Caused by: org.hibernate.exception.{failure.hibernate}: Unable to open JDBC Connection for DDL execution",
            f"Caused by: {_thrown(failure)}",
        )
    )  # fmt: skip


def _thrown(failure: Failure) -> str:
    text = f"{failure.exception}: {failure.text}"
    if failure.cause:
        text += (
            "\n\nThe last packet sent successfully to the server was 0 milliseconds ago. The driver has not received "
        )
        text += "any packets from the server."
    traced = f"{text}\n{_DRIVER}"
    return f"{traced}\nCaused by: {failure.cause}" if failure.cause else traced


class SpringWording(Wording):
    """Lines of requests: `{thread}` is one of Tomcat's; what the database refuses is told by Hibernate first."""

    __slots__ = ("port",)

    def __init__(self, pod: str, port: int) -> None:
        super().__init__(pod)
        self.port = port

    def __reduce__(self) -> tuple[type[Wording], tuple[str, int]]:  # type: ignore[override]
        return (SpringWording, (self.pod, self.port))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """What stands in the log."""
        thread = f"http-nio-{self.port}-exec-{1 + int(uniform_at(spoken.key, 97) * 10)}"
        text = super().text(template, spoken).replace("{thread}", thread_name(thread)).replace("{newline}", "\n")
        cause = spoken.cause
        if cause is None or len(cause.path) != 1 or cause.path[0].client != "mysql-cj":
            return text
        found = _REFUSED.match(cause.text)
        number, state, why = (found[1], found[2], found[3]) if found is not None else ("0", "08S01", "")
        why = why or "Communications link failure"
        warning = line(spoken.t_ns, "WARN", thread, _HIBERNATE, f"SQL Error: {number}, SQLState: {state}")
        return "\n".join((warning, line(spoken.t_ns, "ERROR", thread, _HIBERNATE, why), text))


class ProxyWording(SpringWording):
    """Whoever passes requests on says nothing of an answer that tells of an error, and little of nobody to ask."""

    __slots__ = ()

    def __reduce__(self) -> tuple[type[Wording], tuple[str, int]]:  # type: ignore[override]
        return (ProxyWording, (self.pod, self.port))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """What stands in the log."""
        cause = spoken.cause
        if cause is None:
            return super().text(template, spoken)
        if len(cause.path) > 1 or cause.kind in (UNKNOWN, STATUS):
            return ""
        if cause.kind == NO_SUCH_HOST and cause.path[0].client == "spring-webflux":
            lacking = f"No servers available for service: {cause.path[0].env}"
            return line(spoken.t_ns, "WARN", "boundedElastic-1", "o.s.c.l.core.RoundRobinLoadBalancer", lacking)
        return super().text(template, spoken)
