"""klog lines of the kubelet in its node's journal."""

from __future__ import annotations

from simcluster.engine import format_rfc3339
from simcluster.models.machine.machine import Machine


class KubeletLog:
    """Writes `I0302 09:00:01.123456     812 kubelet.go:2325] "SyncLoop ADD" source="api"` lines."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def info(self, where: str, message: str, **values: object) -> None:
        """An informational line from source position `where` (`kubelet.go:2325`)."""
        self._write("I", where, message, values)

    def error(self, where: str, error: str, message: str, **values: object) -> None:
        """An error line; `error` becomes `err=`."""
        self._write("E", where, message, {"err": error, **values})

    def _write(self, level: str, where: str, message: str, values: dict[str, object]) -> None:
        machine = self.machine
        pid = machine.units.units["kubelet.service"].pid
        text = klog_line(level, machine.os.clock.now_ns(), pid, where, message, **values)
        machine.log.write(machine.sim.now, "kubelet.service", "kubelet", pid, text)


def klog_line(level: str, now_ns: int, pid: int, where: str, message: str, **values: object) -> str:
    """A structured line of klog v2; `level` is I, W, E or F."""
    stamp = format_rfc3339(now_ns, digits=6)
    listed = "".join(f" {key}={_quoted(value)}" for key, value in values.items())
    return f'{level}{stamp[5:7]}{stamp[8:10]} {stamp[11:26]} {pid:7d} {where}] "{message}"{listed}'


def _quoted(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + ",".join(_quoted(item) for item in value) + "]"
    return str(value)
