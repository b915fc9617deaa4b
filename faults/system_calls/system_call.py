"""A share of the system calls of a node's containers, or of those of one workload, fails."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from simcluster.engine.content import Content, Nanoseconds, nearest
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.survey import standing
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ready_pods_of
from simcluster.models.machine.kernel.calltable import CALLS, PROBES, Probe
from simcluster.models.machine.kernel.errors import NUMBER
from simcluster.models.machine.machine import Machine

_NODE = "Node"


class CallParams(Content):
    """Which system call fails how.

    Attributes:
        call: one of `CALLS`, or a name of `PROBES`, which brings the usual error with it.
        errno: name of its error; if nothing is said, the usual one; none if it takes `delay` longer.
        probability: share of the calls.
        path: only on files below it; comm: only of processes of that name.
    """

    call: str
    errno: str = ""
    probability: float = Field(default=1.0, gt=0.0, le=1.0)
    delay: Nanoseconds = Field(default=0, ge=0)
    path: str = ""
    comm: str = ""

    @model_validator(mode="before")
    @classmethod
    def _by_another_name(cls, data: Any) -> Any:
        name = data.get("call") if isinstance(data, dict) else None
        probe = PROBES.get(name) or Probe(name, CALLS.get(name, "")) if isinstance(name, str) else None
        if probe is None:
            return data
        if probe.why:
            raise ValueError(f"{name}: {probe.why}; the nearest that fits is {probe.nearest}")
        usual = {} if data.get("errno") or data.get("delay") else {"errno": probe.errno}
        return {"probability": probe.probability, **data, "call": probe.call, **usual}

    @model_validator(mode="after")
    def _known(self) -> CallParams:
        for value, known in ((self.call, (*CALLS, *PROBES)), (self.errno, ("", *NUMBER))):
            if value not in known:
                close = ", ".join(nearest(value, known)) or ", ".join(known)
                raise ValueError(f"there is no {value!r}; did you mean {close}?")
        if not (self.errno or self.delay):
            raise ValueError("give errno or delay")
        return self


class SystemCall(Mechanism):
    """A probe in a node's kernel lets system calls fail: of all its containers, or of those that a workload has now.

    Symptoms: what programs make of the error: stores that stop on an I/O error, connections that are refused or not
    accepted, processes that cannot be started, times that cannot be read.
    Shows in: logs of the programs, restarts, callers; neither in the drive's health nor in the kernel's log.
    Undone by: taking the probe away, a new kernel (reboot); of a workload also new pods; moving the pods elsewhere.
    """

    sheet = DataSheet(
        layer="kernel",
        family="system_call",
        changes=("syscalls *",),
        follows="Programs get an error of the kernel and do what they do then: they stop, refuse, or try again.",
        undone_by=("taking the probe away", "a reboot", "new pods, if it is about those of a workload"),
        units={"probability": "share", "delay": "ns"},
        source="Linux fault injection; bpf_override_return; errno(3)",
    )
    Params = CallParams
    params: CallParams
    kinds = (_NODE, "Deployment", "StatefulSet", "DaemonSet")

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return f"system call {self.params.call}"

    @property
    def details(self) -> dict[str, str]:
        """By what people tell of it."""
        return {"errno": self.params.errno} if self.params.errno else {}

    def check(self, target: FaultTarget) -> None:
        """There must be a running node, or a pod on one, that does not have it yet."""
        super().check(target)
        places = self._places(target)
        if not places:
            raise ImpossibleTarget(f"no process of {self.ref} runs on a node that is up")
        for machine, container_id in places:
            for rule in machine.os.syscalls.rules.values():
                if (rule.call, rule.errno, rule.container_id) == (self.params.call, self.params.errno, container_id):
                    raise ImpossibleTarget(f"{self.params.call} of {self.ref} fails already")

    def inject(self, target: FaultTarget) -> None:
        """Set the probe."""
        one = self.params
        for machine, container_id in self._places(target):
            scope = {"container_id": container_id, "comm": one.comm, "path": one.path}
            machine.os.syscalls.inject(one.call, one.errno, one.probability, delay_ns=one.delay, **scope)
            machine.network.version += 1

    def still_present(self, target: FaultTarget) -> str:
        """The probe is there, and what it is about runs."""
        ids = {container_id for _, container_id in self._places(target)} if self.ref.kind != _NODE else {""}
        alive = any(rule.container_id in ids for machine in target.machines.values() if isinstance(machine, Machine)
                    for rule in machine.os.syscalls.rules.values())  # fmt: skip
        return standing(target, self.changed) if alive else ""

    def _places(self, target: FaultTarget) -> list[tuple[Machine, str]]:
        """Machines, and ids of containers on them; an empty id is every container."""
        if self.ref.kind == _NODE:
            machine = target.machines.get(self.ref.name)
            return [(machine, "")] if isinstance(machine, Machine) and machine.power.running else []
        found = []
        workload = self.ref.find(target.api, self.namespace)
        for pod in ready_pods_of(target.api.store, workload) if workload is not None else ():
            machine = target.machines.get(pod["spec"].get("nodeName", ""))
            for status in (pod.get("status") or {}).get("containerStatuses") or ():
                identity = str(status.get("containerID", "")).rpartition("/")[2]
                if isinstance(machine, Machine) and identity:
                    found.append((machine, identity))
        return found
