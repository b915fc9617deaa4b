"""klog lines of the kubelet in its node's journal."""

from __future__ import annotations

from simcluster.models.machine.machine import Machine
from simcluster.telemetry.klog import klog_line


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
