"""The control plane's processes: what their containers' starts and ends mean for the cluster.

etcd, the API server, the controller manager and the scheduler are static pods. As long as a
container of one of them runs, the component works; when the container is gone, so is what it
did. A new leader of the scheduler or the controller manager waits for the old one's Lease.
Source: kubeadm 1.32 manifests; component-base leader election defaults (lease 15 s, renew
deadline 10 s, retry 2 s). Left out: several API servers behind a load balancer, etcd quorum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, name_of, namespace_of
from simcluster.api.store import Change
from simcluster.engine import SECOND, Simulation, Timer, format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.userland.outcome import Outcome
from simcluster.telemetry.klog import ComponentLog, klog_line, klog_text
from simcluster.telemetry.logs import LogFile
from simcluster.telemetry.metrics.columns import Samples
from simcluster.telemetry.metrics.sheets import Sheets
from simcluster.world import apimetrics, etcdmetrics
from simcluster.world.apigate import ETCD_TIMEOUT, GatedApi
from simcluster.world.apisocket import answered
from simcluster.world.durations import WriteDurations
from simcluster.world.etcdlog import EtcdLog, Idle
from simcluster.world.identitylease import IdentityLease
from simcluster.world.kubernetesservice import KubernetesService

#: leaderElection defaults of component-base.
LEASE_NS = 15 * SECOND
RENEW_DEADLINE_NS = 10 * SECOND
RETRY_NS = 2 * SECOND
#: The real leader renews every 2 s. Nobody reads in between, so here it writes every 10 s, and
#: the end of a Lease is computed from the 2 s grid.
RENEW_NS = 10 * SECOND
LEASES = "leases.coordination.k8s.io"
#: An API server without etcd gives up after so long (etcd3 preflight check of kube-apiserver).
ETCD_PATIENCE_NS = 20 * SECOND
#: From exec to the first answer of kube-apiserver and of etcd on a small control plane.
SERVE_NS = 3 * SECOND
#: What the components call themselves.
KUBERNETES = "v1.32.13"
#: --secure-port of the controller manager and of the scheduler.
_SECURE_PORTS = (10257, 10259)
#: Flags whose value names a file that must be there at the start.
_FILE_FLAGS = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig", "config")


class Part(Protocol):
    """What runs inside of an elected process.

    Attributes:
        log: its lines.
    """

    log: ComponentLog

    def announce(self) -> None:
        """Say what it says when it begins to lead."""

    def start(self) -> None:
        """Lead: do the work."""

    def stop(self) -> None:
        """Stop working."""

    def samples(self) -> Samples:
        """Its metrics."""


class Component:
    """One component of the control plane, of which there may be several processes.

    Attributes:
        processes: containers that run it, by id, in order of start.
        tool: runs what its image brings beside it (`etcdctl`), if anything.
    """

    def __init__(self, sim: Simulation, name: str) -> None:
        self.sim = sim
        self.name = name
        self.processes: dict[str, Container] = {}
        self.tool: Callable[[Container, tuple[str, ...]], Outcome | None] | None = None

    def wrap(self, container: Container, program: Program) -> Program:
        """The program of a container of this component."""
        return ComponentProgram(container, program, self)

    def started(self, container: Container) -> None:
        """A process of it has started."""
        self.processes[container.container_id] = container

    def ended(self, container: Container) -> None:
        """A process of it is gone."""
        self.processes.pop(container.container_id, None)

    def leapt(self, idle: Idle) -> None:
        """Idle time was skipped (`World.leap`)."""

    def answer(self, call: Call) -> Answer | None:
        """What it says to a health check, if that is not simply fine."""
        return None

    def listens(self) -> bool:
        """Whether its processes accept connections yet."""
        return True

    def exposition(self, container: Container, call: Call) -> Samples | Answer | None:
        """Metrics of one of its processes."""
        return None


class ComponentProgram(WrappedProgram):
    """The main process of a component's container."""

    def __init__(self, container: Container, inner: Program, component: Component) -> None:
        super().__init__(container, inner)
        self.component = component

    def start(self) -> None:
        """Check the flags as the real program does, then run."""
        problem = _flag_problem(self.container)
        if problem:
            self.container.write(problem, "stderr")
            self.container.exit(1)
            return
        self.inner.start()
        self.component.started(self.container)

    def stop(self) -> None:
        """The process is gone."""
        self.inner.stop()
        self.component.ended(self.container)

    def run_with_input(self, argv: tuple[str, ...], stdin: str) -> Outcome | None:
        """A command of the image."""
        found = None if self.component.tool is None else self.component.tool(self.container, argv)
        return found if found is not None else self.inner.run_with_input(argv, stdin)

    def listens_on(self, port: int) -> bool:
        """Whether it accepts connections on the port."""
        return self.component.listens() and self.inner.listens_on(port)

    def answer(self, call: Call) -> Answer:
        """Answer a health check."""
        return self.component.answer(call) or self.inner.answer(call)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """Metrics of the component."""
        return self.component.exposition(self.container, call)

    def steady(self, call: Call) -> object | None:
        """A component that has nothing to say is as well as its process."""
        return None if call.secure or self.component.answer(call) is not None else self.inner.steady(call)


def _flag_problem(container: Container) -> str:
    """What the program says of its flags before it ends; empty if they are fine."""
    spec = container.spec
    program = spec.image.rpartition("/")[2].partition(":")[0]
    files = container.machine.files
    for word in (*spec.command[1:], *spec.args):
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name.replace("-", "").isalnum():
            return f'Error: unknown command "{word}" for "{program}"'
        is_file = name in _FILE_FLAGS or name.endswith(("-file", "-ca", "cafile", "certfile", "keyfile"))
        if equals and is_file and value.startswith("/") and files.find(value) is None:
            if "kubeconfig" in name:
                why = f"stat {value}: no such file or directory"
                return klog_line("E", container.sim.now, 1, "run.go:72", "command failed", err=why)
            why = f"open {value}: no such file or directory"
            return klog_line("E", container.sim.now, 1, "run.go:72", "command failed", err=why)
    return ""


def _flag(container: Container, name: str) -> str:
    """Value of a flag, empty if it is not given."""
    words = (*container.spec.command, *container.spec.args)
    given = [word.partition("=")[2] for word in words if word.startswith(f"--{name}=")]
    return given[-1] if given else ""


def verbosity_of(container: Container) -> int:
    """What the flag `--v` says."""
    words = (*container.spec.command, *container.spec.args)
    given = [word.partition("=")[2] for word in words if word.startswith(("--v=", "-v="))]
    return int(given[-1]) if given and given[-1].isdecimal() else 0


class ElectedComponent(Component):
    """The scheduler or the controller manager: one process leads and does the work.

    Args:
        part: what the leader does.
        client: with which the Lease is written.
        releases: whether a leader that ends in an orderly way gives the Lease back.

    Attributes:
        leader: id of the container that leads; "bootstrap" before there was any, "" if nobody does.
    """

    def __init__(
        self, sim: Simulation, name: str, part: Part, api: GatedApi, client: Client, *, releases: bool
    ) -> None:
        super().__init__(sim, name)
        self.part = part
        self.api = api
        self.client = client
        self.releases = releases
        self.leader = "bootstrap"
        self._lease_until_ns = 0
        self._holder = ""
        self._transitions = 0
        self._stream = sim.stream("leader election", name)
        self._renewal: Timer | None = None
        self._candidacy: Timer | None = None

    def started(self, container: Container) -> None:
        """A process has started: it leads at once if it is the first ever, else it waits for the Lease."""
        super().started(container)
        now, program = self.sim.now, self.name
        title = "Kubernetes Scheduler" if program == "kube-scheduler" else program
        port = _SECURE_PORTS[program == "kube-scheduler"]
        lock = f"attempting to acquire leader lease kube-system/{program}..."
        for where, text in (
            ("serving.go:386", "Generated self-signed cert in-memory"),
            ("server.go:166", f'"Starting {title}" version="{KUBERNETES}"'),
            ("server.go:168", '"Golang settings" GOGC="" GOMAXPROCS="" GOTRACEBACK=""'),
            ("tlsconfig.go:243", '"Starting DynamicServingCertificateController"'),
            ("secure_serving.go:213", f"Serving securely on 127.0.0.1:{port}"),
            ("leaderelection.go:257", lock),
        ):
            container.write(klog_text("I", now, where, text), "stderr")
        if self.leader == "bootstrap":
            self._lead(container)
        elif not self.leader:
            self._stand()

    def ended(self, container: Container) -> None:
        """A process is gone; a crashed leader's Lease must run out before another one leads."""
        super().ended(container)
        if container.container_id != self.leader:
            return
        self.leader = ""
        self.part.stop()
        self.part.log.detach()
        if self._renewal is not None:
            self._renewal.cancel()
        now = self.sim.now
        orderly = self.releases and container.exit_code == 0
        # The last renewal lies at most one retry period back.
        self._lease_until_ns = now if orderly else now + LEASE_NS - self._stream.uniform_ns(0, RETRY_NS)
        if orderly and self.api.available:
            self._write({"holderIdentity": "", "leaseDurationSeconds": 1})
        if self.processes:
            self._stand()

    def leapt(self, idle: Idle) -> None:
        """Whoever leads has renewed its Lease all the while."""
        self._renew()

    def api_lost(self, lost_ns: int) -> None:
        """The API server has not answered for the renew deadline: a leader gives up and exits."""
        container = self.processes.get(self.leader)
        if container is None or self.api.available:
            return
        if self.sim.now < lost_ns + RENEW_DEADLINE_NS:
            url = f"https://{self.api.address}/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{self.name}"
            why = ETCD_TIMEOUT if self.api.serving else f"dial tcp {self.api.address}: connect: connection refused"
            said = f"error retrieving resource lock kube-system/{self.name}: "
            said += why if self.api.serving else f'Get "{url}?timeout=5s": {why}'
            container.write(klog_text("E", self.sim.now, "leaderelection.go:436", said), "stderr")
            return
        where = "leaderelection.go:429"
        lease = f"kube-system/{self.name}"
        text = f"Failed to update lock optimistically: context deadline exceeded, falling back to slow path {lease}"
        container.write(klog_line("E", self.sim.now, 1, where, text), "stderr")
        container.write(klog_line("E", self.sim.now, 1, "server.go:305", "leaderelection lost"), "stderr")
        container.exit(1)

    def exposition(self, container: Container, call: Call) -> Samples | Answer | None:
        """What its part has done, if this is the process that leads; the others do nothing."""
        if call.path != "/metrics" or call.port not in _SECURE_PORTS:
            return None
        return self.part.samples() if container.container_id == self.leader else {}

    def _stand(self) -> None:
        """Try to get the Lease as soon as it has run out."""
        if self._candidacy is not None:
            self._candidacy.cancel()
        at_ns = max(self.sim.now + SECOND, self._lease_until_ns) + self._stream.uniform_ns(0, RETRY_NS)
        self._candidacy = self.sim.at(at_ns, self._try)

    def _try(self) -> None:
        self._candidacy = None
        if self.leader or not self.processes:
            return
        if not self.api.available:
            self._candidacy = self.sim.after(RETRY_NS, self._try)
            return
        self._lead(next(iter(self.processes.values())))

    def _lead(self, container: Container) -> None:
        self.leader = container.container_id
        # The host's name and a UUID of the process, here drawn from the container's id.
        digits = container.container_id
        uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        identity = f"{container.machine.name}_{uuid}"
        self._transitions += bool(self._holder)
        self._holder = identity
        self._write({"holderIdentity": identity, "leaseDurationSeconds": 15}, acquired=True)
        self._renewal = self.sim.every(RENEW_NS, self._renew, first_ns=self.sim.now + RENEW_NS)
        said = f"successfully acquired lease kube-system/{self.name}"
        container.write(klog_text("I", self.sim.now, "leaderelection.go:271", said), "stderr")
        self.part.log.attach(container.write, verbosity_of(container))
        self.part.announce()
        self.part.start()

    def _renew(self) -> None:
        if not (self.leader and self.api.available):
            return
        try:
            if self.client.cache.get(LEASES, "kube-system", self.name) is not None:
                self.client.renew("kube-system", self.name, format_rfc3339(self.sim.now, digits=6))
            else:
                self._write({})
        except ApiError:
            return

    def _write(self, spec: Json, *, acquired: bool = False) -> None:
        now = format_rfc3339(self.sim.now, digits=6)
        spec = {**spec, "renewTime": now}
        if acquired:
            spec.update(acquireTime=now, leaseTransitions=self._transitions)
        try:
            if self.client.cache.get(LEASES, "kube-system", self.name) is not None:
                self.client.patch(LEASES, "kube-system", self.name, {"spec": spec}, kind="merge")
                return
            metadata = {"name": self.name, "namespace": "kube-system"}
            lease: Json = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
            self.client.create(LEASES, "kube-system", lease)
        except ApiError:
            return  # the next renewal comes; what a lost API server means is decided by `api_lost`


class Etcd(Component):
    """etcd: without it the API server can neither read nor write."""

    def __init__(self, sim: Simulation, api: GatedApi, changed: Callable[[], None], durations: WriteDurations) -> None:
        super().__init__(sim, "etcd")
        self.api = api
        self.durations = durations
        self.changed = changed
        self._seen = False
        self._logs: dict[str, EtcdLog] = {}

    def started(self, container: Container) -> None:
        """A member starts; it answers when its log is read."""
        super().started(container)
        self.durations.started(etcd=container)
        self._logs[container.container_id] = EtcdLog(container, self.api.store)
        if not self._seen:
            self._seen = True
            return
        self.sim.after(SERVE_NS, self._serve, container.container_id)

    def ended(self, container: Container) -> None:
        """A member is gone."""
        super().ended(container)
        log = self._logs.pop(container.container_id, None)
        if log is not None:
            log.end()
        if not self.processes and self.api.storing:
            self.api.storing = False
            self.changed()

    def leapt(self, idle: Idle) -> None:
        """Its members have compacted all the while."""
        for log in self._logs.values():
            log.leapt(idle)

    def exposition(self, container: Container, call: Call) -> Samples | Answer | None:
        """What it stores."""
        if call.path != "/metrics":
            return None
        return {**etcdmetrics.samples(self.api.store), **Sheets(self.durations.etcd())}

    def _serve(self, container_id: str) -> None:
        if container_id in self.processes and not self.api.storing:
            self.api.storing = True
            self.changed()


class ApiServer(Component):
    """kube-apiserver: without it nobody reaches the cluster's objects."""

    def __init__(self, sim: Simulation, api: GatedApi, changed: Callable[[], None], durations: WriteDurations) -> None:
        super().__init__(sim, "kube-apiserver")
        self.api = api
        self.durations = durations
        self.changed = changed
        self.identity = IdentityLease(sim, api)
        self.service = KubernetesService(sim, api)
        self._seen = False
        api.store.subscribe("services", self)

    def started(self, container: Container) -> None:
        """A process starts: it serves as soon as etcd answers, or gives up."""
        super().started(container)
        self.durations.started(server=container)
        self.api.log.attach(container.write, verbosity_of(container))
        self.api.log.text("I", "options.go:228", f"external host was not specified, using {container.machine.address}")
        self.api.log.note("server.go:142", "Version:", version=KUBERNETES)
        self._audit(container)
        if not self._seen:
            self._seen = True
            self._begin(container)
            return
        self.sim.after(SERVE_NS, self._serve, container.container_id, self.sim.now)

    def ended(self, container: Container) -> None:
        """A process is gone."""
        super().ended(container)
        if not self.processes:
            self.api.log.detach()
            self.api.audit.close()
        if not self.processes and self.api.serving:
            self.api.serving = False
            self.identity.end()
            self.service.end()
            self.changed()

    def _audit(self, container: Container) -> None:
        """Open the audit log that its flags name."""
        machine, path = container.machine, _flag(container, "audit-log-path")
        policy = machine.files.find(_flag(container, "audit-policy-file") or "/")
        if not path or policy is None:
            self.api.audit.close()
            return
        log = container.log if path == "-" else machine.program_logs.setdefault(path, LogFile())
        self.api.audit.open(log, policy.text, self.sim, machine.address)

    def leapt(self, idle: Idle) -> None:
        """Events have expired, and the one that serves has renewed its Lease."""
        self.api.event_expiry.expire()
        self.identity.leapt()

    def _begin(self, container: Container) -> None:
        """The process serves, and keeps what is its own."""
        self.api.log.text("I", "secure_serving.go:213", "Serving securely on [::]:6443")
        self.api.log.text("I", "shared_informer.go:320", "Caches are synced for node_authorizer")
        self.api.log.text("I", "cache.go:39", "Caches are synced for APIServiceRegistrationController controller")
        self.identity.begin(container.machine.name, container.container_id)
        self.service.begin()

    def listens(self) -> bool:
        """Whether the port is open."""
        return self.api.serving

    def answer(self, call: Call) -> Answer | None:
        """A request over TLS is served; a probe's is plain, and fails while etcd does not answer."""
        if call.secure:
            return answered(self.api, call)
        if self.api.storing:
            return None
        name = call.path.strip("/").partition("?")[0]
        return Answer("ok", 500, f"[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n{name} check failed\n")

    def exposition(self, container: Container, call: Call) -> Samples | Answer | None:
        """Its own metrics, or those of a kubelet behind `nodes/NAME/proxy`, to whom they are allowed."""
        return apimetrics.exposition(self.api, call)

    def lost_etcd(self) -> None:
        """Say that nobody accepts connections where etcd should be (grpc-go's words)."""
        dial = "dial tcp 127.0.0.1:2379: connect: connection refused"
        self.api.log.text(
            "W",
            "logging.go:55",
            "[core] [Channel #1 SubChannel #3]grpc: addrConn.createTransport failed to connect to "
            '{Addr: "127.0.0.1:2379", ServerName: "127.0.0.1:2379", }. Err: connection error: desc = '
            f'"transport: Error while dialing: {dial}"',
        )

    def notify(self, change: Change) -> None:
        """A Service was written: say which addresses it was given."""
        spec = change.object["spec"]
        address = spec.get("clusterIP", "None")
        if change.kind != "ADDED" or address in ("", "None"):
            return
        key = f"{namespace_of(change.object)}/{name_of(change.object)}"
        text = f'"allocated clusterIPs" service="{key}" clusterIPs={{"IPv4":"{address}"}}'
        self.api.log.text("I", "alloc.go:330", text)

    def _serve(self, container_id: str, began_ns: int) -> None:
        container = self.processes.get(container_id)
        if container is None or self.api.serving:
            return
        if self.api.storing:
            self.api.serving = True
            self._begin(container)
            self.changed()
        elif self.sim.now - began_ns < ETCD_PATIENCE_NS:
            self.lost_etcd()
            self.sim.after(SECOND, self._serve, container_id, began_ns)
        else:
            text = "Error creating leases: error creating storage factory: context deadline exceeded"
            stamp = format_rfc3339(self.sim.now, digits=6)
            container.write(f"F{stamp[5:7]}{stamp[8:10]} {stamp[11:26]}       1 instance.go:226] {text}", "stderr")
            container.exit(255)


class ControlPlane:
    """All components of the control plane, and the programs of their containers.

    Attributes:
        components: by the name of the image, in the order of the static pods.
    """

    def __init__(self, sim: Simulation, api: GatedApi, scheduler: Part, controllers: Part, client: Client) -> None:
        self.sim = sim
        self.api = api
        elected = (
            ElectedComponent(sim, "kube-controller-manager", controllers, api, client, releases=False),
            ElectedComponent(sim, "kube-scheduler", scheduler, api, client, releases=True),
        )
        durations = api.served.durations = WriteDurations(sim, api)
        etcd, server = Etcd(sim, api, self._api_changed, durations), ApiServer(sim, api, self._api_changed, durations)
        components = (etcd, server, *elected)
        self.components: dict[str, Component] = {component.name: component for component in components}
        self._down_since_ns = -1

    def component_of(self, container: Container) -> Component | None:
        """The component that a container runs, if it is one of the control plane."""
        spec = container.spec
        if spec.namespace != "kube-system" or not container.sandbox.host_network:
            return None
        return self.components.get(spec.image.rpartition("/")[2].partition("@")[0].partition(":")[0])

    def _api_changed(self) -> None:
        """The API server has begun or ceased to answer."""
        if self.api.available:
            self._down_since_ns = -1
        elif self._down_since_ns < 0:
            self._down_since_ns = self.sim.now
            for step in range(1, RENEW_DEADLINE_NS // RETRY_NS + 1):
                self.sim.after(step * RETRY_NS, self._lost, self.sim.now)

    def _lost(self, since_ns: int) -> None:
        if self._down_since_ns != since_ns:
            return
        server = self.components["kube-apiserver"]
        if isinstance(server, ApiServer) and not self.api.storing:
            server.lost_etcd()
        for component in self.components.values():
            if isinstance(component, ElectedComponent):
                component.api_lost(since_ns)
