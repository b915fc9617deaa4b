"""How the recorded manifests steer their containers: the behaviour pack of the golden harness.

The recorded nodes ran real kubelets over a scripted runtime. Its conventions, which no
product code knows: an image prints three lines and serves the declared ports; `sh -c`
scripts run as written; `stress` is killed after 2 s for its memory; FAKE_CPU_MILLI,
FAKE_MEM_MI and FAKE_OOM_AFTER set what a container uses; the words fail, slow and missing
in an HTTP path answer 503, nothing, 404; images named missing or does-not-exist are not
found, private ones are denied, hosts that begin with unreachable do not resolve; the annotation
fake.io/sandbox-error=cni breaks the pod's network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from simcluster.api.server import Api
from simcluster.engine import MILLISECOND, MINUTE, SECOND, Timer, parse_duration
from simcluster.models.apps.catalog import AppCatalog
from simcluster.models.machine.container import EXIT_SIGTERM, Container, Sandbox
from simcluster.models.machine.hardware import MIB
from simcluster.models.machine.imagereference import ImageReference
from simcluster.models.machine.images import ImageRegistry, Manifest, PullError
from simcluster.models.machine.imagestore import ImageStore
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.process import Answer, Call, StartFailure
from simcluster.models.machine.program import Program, ProgramCatalog
from simcluster.models.machine.runtime import Runtime, RuntimeFailure
from simcluster.models.machine.shell.container import ShellProgram, can_run

#: What a container without FAKE_CPU_MILLI and FAKE_MEM_MI uses, as `kubectl top` showed it.
CPU_MILLI, MEMORY_MIB = 5, 24
#: What a node uses besides (`kubectl top nodes`: 600 MiB and 24 MiB for each of its containers).
NODE_CPU_MILLI, NODE_MEMORY_MIB = 80, 600
OOM_AFTER_NS = 2 * SECOND
#: Longer than any probe's timeout.
SLOW_NS = 10 * MINUTE
#: A sandbox took 150 ms. From Pulled to Created it was 24 to 36 ms, from Created to Started 1 to 5 ms, in all of
#: 31 starts of the recorded timeline; of that, two writes of Events.
SANDBOX_NS, CREATE_NS, START_NS = 150 * MILLISECOND, (22 * MILLISECOND, 34 * MILLISECOND), (0, 4 * MILLISECOND)
#: Within these lie all the times below; of an image that is not among them, one time in between is drawn.
SHORTEST_PULL_NS, LONGEST_PULL_NS = 300 * MILLISECOND, 1100 * MILLISECOND
#: How long the scripted runtime took to pull an image, every time anew: even one that is there.
PULL_MS = {
    "docker.io/library/busybox:1.36": 421,
    "docker.io/library/mongo:7.0": 897,
    "docker.io/hotel/app:1.0": 771,
    "docker.io/hotel/app:1.1": 921,
    "docker.io/hotel/app:does-not-exist": 711,
    "docker.io/hotel/frontend:1.0.0": 304,
    "docker.io/hotel/geo:1.0.0": 1017,
    "docker.io/hotel/log-shipper:0.3": 1060,
    "docker.io/hotel/node-agent:2.1": 388,
    "docker.io/hotel/rate:1.0.0": 714,
    "docker.io/hotel/reservation:1.0.0": 940,
    "docker.io/hotel/search:1.0.0": 343,
    "docker.io/polinux/stress:latest": 627,
    # These two failed after 1.555 s together: stress waited 2.266 s for them and does-not-exist.
    "docker.io/private/secretapp:1.0": 777,
    "unreachable.registry.local/team/app:2.0": 777,
}
#: Pulls of one image took 627 to 631 ms, 420 and 421, 771 and 772.
JITTER_NS = MILLISECOND
#: Sizes that the scripted registry reported, by image.
IMAGE_SIZES = {
    "docker.io/library/busybox:1.36": 105284050,
    "docker.io/library/mongo:7.0": 39293153,
    "docker.io/hotel/app:1.0": 95027179,
    "docker.io/hotel/app:1.1": 47628132,
    "docker.io/hotel/frontend:1.0.0": 86837031,
    "docker.io/hotel/rate:1.0.0": 32569039,
    "docker.io/polinux/stress:latest": 105854240,
}
_ACCOUNT_NS = SECOND
_CNI_ERROR = (
    'plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized'
)


class ScriptedServer(Program):
    """The main process of an image that is no script: three log lines, and its ports are open."""

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        self._timers: list[Timer] = []

    def start(self) -> None:
        """Print the banner; count CPU; run out of memory if it is told to."""
        container, image = self.container, self.container.spec.image
        container.write(f'level=info msg="starting" image="{image}"')
        container.write('level=info msg="listening" addr=":8080"')
        container.write('level=warn msg="tracing exporter not configured"')
        environment = container.spec.environment
        container.set_memory(int(environment.get("FAKE_MEM_MI", MEMORY_MIB)) * MIB)
        after = environment.get("FAKE_OOM_AFTER", "")
        if after:
            self._timers.append(container.sim.after(parse_duration(after), self._run_out))
        elif (container.spec.command or ("",))[0].rpartition("/")[2] == "stress":
            self._timers.append(container.sim.after(OOM_AFTER_NS, self._run_out))
        self._timers.append(container.sim.every(_ACCOUNT_NS, self._account))

    def terminate(self) -> None:
        """SIGTERM ends it at once and in order."""
        self.container.exit(0)

    def stop(self) -> None:
        """The process is gone."""
        for timer in self._timers:
            timer.cancel()
        self._timers = []

    def listens_on(self, port: int) -> bool:
        """Whether the manifest declares the port."""
        return port in self.container.spec.ports

    def answer(self, call: Call) -> Answer:
        """What the path's words say."""
        if call.port not in self.container.spec.ports:
            return Answer("refused")
        if "slow" in call.path:
            return Answer("ok", 200, delay_ns=SLOW_NS)
        for word, status in (("fail", 503), ("missing", 404)):
            if word in call.path:
                return Answer("ok", status, f"{status} {call.path}\n")
        return Answer("ok", 200, f"ok {call.path}\n")

    def _account(self) -> None:
        milli = int(self.container.spec.environment.get("FAKE_CPU_MILLI", CPU_MILLI))
        self.container.use_cpu(milli * 1_000_000 * _ACCOUNT_NS // SECOND)

    def _run_out(self) -> None:
        limit = self.container.spec.memory_limit or self.container.machine.memory_bytes
        self.container.set_memory(limit + MIB)
        if self.container.running:
            self.container.machine.out_of_memory(self.container)


class Script(ShellProgram):
    """A `sh -c` script; the scripted runtime ended it at once on SIGTERM."""

    def start(self) -> None:
        """Run it; it uses what every container uses."""
        super().start()
        if self.container.running:
            self.container.set_memory(int(self.container.spec.environment.get("FAKE_MEM_MI", MEMORY_MIB)) * MIB)
            self._account()

    def _account(self) -> None:
        if self.container.running:
            milli = int(self.container.spec.environment.get("FAKE_CPU_MILLI", CPU_MILLI))
            self.container.use_cpu(milli * 1_000_000 * _ACCOUNT_NS // SECOND)
            self.container.sim.after(_ACCOUNT_NS, self._account)

    def terminate(self) -> None:
        """SIGTERM ends it at once."""
        self.container.exit(EXIT_SIGTERM)


class ConventionCatalog(AppCatalog):
    """Every image is a `Script` if its entry point is one, else a `ScriptedServer`."""

    def program_for(self, container: Container) -> Program:
        """The program of a container that is about to start. Raises StartFailure."""
        words = (*container.spec.command, *container.spec.args)
        if words and words[0].rpartition("/")[2] != "stress":
            if can_run(container, words):
                return Script(container, words, self)
            if "/" in words[0]:
                raise StartFailure(f'exec: "{words[0]}": stat {words[0]}: no such file or directory')
        return ScriptedServer(container)


class ConventionRegistry(ImageRegistry):
    """Registries where the image's name says whether it can be pulled."""

    def resolve(self, image: ImageReference, keys: Mapping[str, str] | None = None) -> Manifest:
        """The manifest behind a reference. Raises PullError with containerd's text."""
        name = f"{image.path}:{image.tag}"
        head = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
        if image.domain.startswith("unreachable"):
            url = f"https://{image.domain}/v2/{image.path}/manifests/{image.version}"
            lookup = f"dial tcp: lookup {image.domain} on 10.96.0.10:53: no such host"
            raise PullError(f'{head}failed to do request: Head "{url}": {lookup}')
        if "private" in name:
            raise PullError(
                f"{head}pull access denied, repository does not exist or may require authorization: "
                "server message: insufficient_scope: authorization failed"
            )
        if "does-not-exist" in name or "missing" in name:
            raise PullError(f"rpc error: code = NotFound desc = {head}{image}: not found")
        digest = hashlib.sha256(f"digest:{image}".encode()).hexdigest()
        return Manifest(IMAGE_SIZES.get(str(image)) or self._size(image), f"sha256:{digest}")

    def runs_as_root(self, image: ImageReference) -> bool:
        """Every image does."""
        return True


class ConventionRuntime(Runtime):
    """The scripted runtime: fast, and with broken networks where an annotation says so."""

    api: Api | None = None

    def sandbox_ns(self) -> int:
        """How long creating a sandbox takes."""
        return SANDBOX_NS

    def create_ns(self) -> int:
        """How long creating a container takes."""
        return self._ids.uniform_ns(*CREATE_NS)

    def start_ns(self) -> int:
        """How long starting a container takes."""
        return self._ids.uniform_ns(*START_NS)

    def create_sandbox(self, namespace: str, pod_name: str, pod_uid: str, **options: Any) -> Sandbox:
        """Create the pod's network namespace, unless its annotation forbids. Raises RuntimeFailure."""
        pod = self.api.store.get("pods", namespace, pod_name) if self.api is not None else None
        annotations = {} if pod is None else pod["metadata"].get("annotations") or {}
        if annotations.get("fake.io/sandbox-error") == "cni":
            raise RuntimeFailure(
                f'rpc error: code = Unknown desc = failed to setup network for sandbox "{self._new_id()}": {_CNI_ERROR}'
            )
        return super().create_sandbox(namespace, pod_name, pod_uid, **options)

    def start_container(self, container: Container) -> None:
        """Exec the entry point; what cannot be started got no log file. Raises RuntimeFailure."""
        try:
            super().start_container(container)
        except RuntimeFailure:
            sandbox, name = container.sandbox, container.spec.name
            folder = f"{sandbox.namespace}_{sandbox.pod_name}_{sandbox.pod_uid}"
            container.log.missing = f"/var/log/pods/{folder}/{name}/{container.attempt}.log"
            raise


class ConventionImages(ImageStore):
    """Pulls that took the scripted runtime one time an image."""

    def pull_ns(self, reference: ImageReference, manifest: Manifest) -> int:
        """The recorded time; of other images, one time that is theirs."""
        return self._time_of(reference) + self._stream.uniform_ns(-JITTER_NS, JITTER_NS)

    def failing_pull_ns(self, reference: ImageReference, error: str) -> int:
        """The recorded time; of other images, one time that is theirs."""
        return self._time_of(reference)

    def _time_of(self, reference: ImageReference) -> int:
        recorded = PULL_MS.get(str(reference), 0)
        drawn = self.sim.stream("scripted pull", str(reference)).uniform_ns(SHORTEST_PULL_NS, LONGEST_PULL_NS)
        return recorded * MILLISECOND if recorded else drawn


class ConventionMachine(LinuxMachine):
    """A node whose numbers are those of the scripted cAdvisor."""

    def build_runtime(self, catalog: ProgramCatalog) -> Runtime:
        """The scripted runtime."""
        self.images = ConventionImages(self.sim, self.name, self.images.registry)
        machine_id = hashlib.sha256(f"machine{self.name}".encode()).hexdigest()[:32]
        self.identity = replace(self.identity, machine_id=machine_id)
        return ConventionRuntime(self.sim, self, self.network, catalog, self.pod_cidr)

    def cpu_ns(self) -> int:
        """CPU time: constant."""
        return (self.sim.now - self.booted_ns) * NODE_CPU_MILLI // 1000

    def memory_used(self) -> int:
        """A constant, and the containers."""
        return NODE_MEMORY_MIB * MIB + self.container_memory
