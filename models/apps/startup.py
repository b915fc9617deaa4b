"""Marks in the lines a program prints when it starts or stops."""

from __future__ import annotations

from simcluster.engine import format_rfc3339
from simcluster.models.apps.marks import STAMPS
from simcluster.models.machine.container import Container

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class StartupWords:
    """Times (those of `marks`, `{time_redis}`, `{time_pingcap}`, `{time_klog}`), and `{hostname}`.

    Also `{version}` (of a store), `{port}`, `{name}` (a missing variable), `{env_NAME}` (the value of the
    variable NAME) and `{switch_NAME}` (`enabled` if that is 1, else `disabled`).
    """

    def __init__(self, container: Container, environment: dict[str, str], ports: tuple[int, ...], name: str) -> None:
        self._container = container
        self._environment = environment
        self._ports = ports
        self._name = name

    def value(self, mark: str) -> str:
        """What the mark stands for; an unknown one for itself."""
        now = self._container.sim.now
        if mark.startswith("env_"):
            return self._environment.get(mark[4:], "")
        if mark.startswith("switch_"):
            return "enabled" if self._environment.get(mark[7:]) == "1" else "disabled"
        if mark == "time_redis":
            return redis_time(now)
        if mark in ("time_pingcap", "time_klog"):
            stamp = format_rfc3339(now, digits=6)
            if mark == "time_klog":
                return f"{stamp[5:7]}{stamp[8:10]} {stamp[11:26]}       1"
            return f"{stamp[:10].replace('-', '/')} {stamp[11:23]} +00:00"
        if mark in STAMPS:
            return STAMPS[mark](now)
        known = {
            "hostname": self._container.spec.pod_name,
            "version": str(getattr(self._container.program, "version", "")),
            "port": str(self._ports[0]) if self._ports else "",
            "name": self._name,
        }
        return known.get(mark, "{" + mark + "}")


def redis_time(t_ns: int) -> str:
    """`02 Mar 2026 09:00:00.000`, as Redis prints it."""
    text = format_rfc3339(t_ns, digits=3)
    return f"{text[8:10]} {_MONTHS[int(text[5:7]) - 1]} {text[:4]} {text[11:23]}"
