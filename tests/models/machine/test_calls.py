"""What the parts of a machine answer, call by call: whole values, and the kernel's whole log at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcluster.engine import MILLISECOND, SECOND
from simcluster.models.machine import certificate, images
from simcluster.models.machine.containerspec import Mount
from simcluster.models.machine.imagereference import parse_image
from simcluster.models.machine.kernel.kernel import Kernel
from simcluster.models.machine.links import quality, tcp
from simcluster.models.machine.network import ServiceKey
from simcluster.models.machine.runtime import RuntimeFailure
from simcluster.models.machine.storage import service, slow
from simcluster.models.machine.storage.service import Rates
from simcluster.models.userland.outcome import Outcome
from tests.clusters.onemachine import one_machine, start
from tests.transcripts import check

_HERE = Path(__file__).parent
_LOG = "/var/local-path-provisioner/volume/log"


def names() -> dict[str, Any]:
    """A node, its neighbour, two containers and a drive."""
    node = one_machine()
    one_machine("worker-2", "172.18.0.4", node.network)
    web = start(node, "web", ports=(8080,), memory_limit=256 << 20, memory_request=64 << 20, cpu_limit=1.5)
    db = start(node, "db", env=(("MEMORY", str(90 << 20)),), mounts=(Mount("/dev/shm", "emptyDir", volume="shm"),))
    kernel: Kernel = node.os
    files = node.files_at(_LOG)
    return {
        "node": node, "web": web, "db": db, "os": kernel, "disk": files.disk, "files": files, "LOG": _LOG,
        "net": node.network, "nic": node.nics["eth0"], "tcp": tcp, "quality": quality, "slow": slow, "S": SECOND,
        "MS": MILLISECOND, "Rates": Rates, "service": service, "images": images, "parse": parse_image, "start": start,
        "certificate": certificate, "Key": ServiceKey, "nvme": node.disks["nvme0n1"],
        "said": lambda unit="": [f"{line.t_ns} {line.identifier}: {line.text}" for line in node.log],
    }  # fmt: skip


def test_whole_answers(request: pytest.FixtureRequest) -> None:
    known = names()

    def run(line: str) -> Outcome:
        try:
            value = eval(line, known)
        except (ValueError, KeyError, RuntimeFailure) as error:
            return Outcome("", f"{type(error).__name__}: {error}\n")
        if isinstance(value, list) and len(value) > 8:
            return Outcome("".join(f"{one}\n" for one in value))
        return Outcome(f"{value!r}\n")

    def wait(seconds: str) -> None:
        known["node"].sim.run_for(int(float(seconds) * SECOND))

    def again() -> None:
        known.update(names())

    check(request, _HERE / "calls.transcript", run, {"wait": wait, "again": again})
