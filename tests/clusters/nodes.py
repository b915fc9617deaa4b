"""A node with its kubelet for tests, and programs that do what their environment says."""

from __future__ import annotations

from typing import Any

from simcluster.api.client import Client
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import ADMIN
from simcluster.api.server import Api
from simcluster.control.kubelet import Kubelet, KubeletServers
from simcluster.engine import MILLISECOND, SECOND, Simulation, Timer
from simcluster.models.machine.container import EXIT_SIGTERM, Container
from simcluster.models.machine.hardware import MachineSpec
from simcluster.models.machine.images import ImageRegistry
from simcluster.models.machine.linux import LinuxMachine
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer, Call, StartFailure
from simcluster.models.machine.program import Program
from simcluster.models.userland.outcome import Outcome


class ScriptedProgram(Program):
    """A process that obeys its environment.

    EXIT_AFTER (seconds) and EXIT_CODE: it ends by itself. LISTEN: port it serves on after
    LISTEN_AFTER seconds, answering STATUS after DELAY_MS (paths listed in FAIL get 503).
    TERM: `ignore`, or the exit code on SIGTERM after TERM_AFTER seconds. MEMORY: bytes it
    takes at start. PROTOCOL: `http` (default) or `grpc`.
    """

    def __init__(self, container: Container) -> None:
        super().__init__(container)
        self.env = container.spec.environment
        self.files: dict[str, str] = {"/etc/hostname": container.spec.pod_name}
        self._timers: list[Timer] = []

    def start(self) -> None:
        """Print one line, and plan the end."""
        container = self.container
        container.write("starting")
        if "MEMORY" in self.env:
            container.set_memory(int(self.env["MEMORY"]))
        if container.running and "EXIT_AFTER" in self.env:
            delay = int(float(self.env["EXIT_AFTER"]) * SECOND)
            self._timers.append(container.sim.after(delay, container.exit, int(self.env.get("EXIT_CODE", "1"))))

    def terminate(self) -> None:
        """Obey or ignore SIGTERM."""
        if self.env.get("TERM") == "ignore":
            return
        container = self.container
        code = int(self.env.get("TERM", str(EXIT_SIGTERM)))
        delay = int(float(self.env.get("TERM_AFTER", "0")) * SECOND)
        if delay:
            self._timers.append(container.sim.after(delay, container.exit, code))
        else:
            container.exit(code)

    def stop(self) -> None:
        """Cancel what was planned."""
        for timer in self._timers:
            timer.cancel()

    def listens_on(self, port: int) -> bool:
        """Whether it serves on the port yet."""
        container = self.container
        ready = container.started_ns + int(float(self.env.get("LISTEN_AFTER", "0")) * SECOND)
        return str(port) == self.env.get("LISTEN") and container.sim.now >= ready

    def answer(self, call: Call) -> Answer:
        """Answer a probe."""
        if not self.listens_on(call.port):
            return Answer("refused")
        delay = int(self.env.get("DELAY_MS", "0")) * MILLISECOND
        speaks = self.env.get("PROTOCOL", "http")
        if call.kind != "tcp" and call.kind != speaks:
            return Answer("ok", 0, "", delay)
        if call.path in self.env.get("FAIL", "").split(","):
            return Answer("ok", 503, "", delay)
        return Answer("ok", int(self.env.get("STATUS", "200")), "", delay)

    def run(self, argv: tuple[str, ...]) -> Outcome | None:
        """`true`, `false`, and `cat` of a few files."""
        if argv == ("true",):
            return Outcome("")
        if argv == ("false",):
            return Outcome("", "", 1)
        if argv[:1] == ("cat",):
            text = self.files.get(argv[1])
            if text is None:
                return Outcome("", f"cat: can't open '{argv[1]}': No such file or directory\n", 1)
            return Outcome(text)
        return None


class ScriptedCatalog:
    """Runs `ScriptedProgram` for every image; a command that begins with `/no` does not exist."""

    def program_for(self, container: Container) -> Program:
        """The program of a container."""
        command = container.spec.command
        if command and command[0].startswith("/no"):
            raise StartFailure(f'exec: "{command[0]}": stat {command[0]}: no such file or directory')
        return ScriptedProgram(container)


class NodeBench:
    """One machine with its kubelet and an API server."""

    def __init__(self, seed: int = 0, name: str = "worker-1", **machine: Any) -> None:
        self.sim = Simulation(seed)
        self.api = Api(self.sim)
        self.admin = Client(self.api, ADMIN, "test")
        for namespace in ("default", "kube-node-lease", "shop"):
            self._ensure(namespace)
        self.network = Network()
        self.registry = ImageRegistry(self.sim)
        spec = MachineSpec(name, "172.18.0.3", **machine)
        self.machine = LinuxMachine(self.sim, spec, self.network, self.registry, ScriptedCatalog())
        self.kubelet = Kubelet(self.sim, self.api, self.machine)
        self.servers = KubeletServers({name: self.kubelet})

    def _ensure(self, namespace: str) -> None:
        if self.api.store.get("namespaces", "", namespace) is None:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            self.admin.create("namespaces", "", body)
        if self.api.store.get("serviceaccounts", namespace, "default") is None:
            account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
            self.admin.create("serviceaccounts", namespace, account)

    def pod(
        self, name: str = "app", env: dict[str, str] | None = None, *, spec: Json | None = None, **more: Any
    ) -> Json:
        """Create a pod with one container `c` on the node; `more` goes into the container."""
        container: Json = {
            "name": "c",
            "image": "acme/app:1.0",
            "imagePullPolicy": "IfNotPresent",
            "env": [{"name": key, "value": value} for key, value in (env or {}).items()],
            **more,
        }
        body: Json = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "labels": {"app": name}},
            "spec": {
                "nodeName": self.machine.name,
                "restartPolicy": "Always",
                "terminationGracePeriodSeconds": 30,
                "automountServiceAccountToken": False,
                "containers": [container],
                **(spec or {}),
            },
        }
        return self.admin.create("pods", "shop", body)

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.sim.run_for(int(seconds * SECOND))

    def get(self, name: str = "app") -> ApiObject | None:
        """The pod as the API has it."""
        return self.api.store.get("pods", "shop", name)

    def container_status(self, name: str = "app") -> Json:
        """Status of the pod's first container."""
        pod = self.get(name)
        assert pod is not None
        status: Json = pod["status"]["containerStatuses"][0]
        return status

    def conditions(self, name: str = "app") -> dict[str, str]:
        """Condition type -> status."""
        pod = self.get(name)
        assert pod is not None
        return {entry["type"]: entry["status"] for entry in pod["status"]["conditions"]}

    def events(self, name: str = "app") -> list[tuple[str, str, int]]:
        """(reason, message, count) of the events about an object, oldest first."""
        found = [e for e in self.api.store.objects("events") if e["involvedObject"]["name"] == name]
        found.sort(key=lambda e: int(e["metadata"]["resourceVersion"]) if e.get("count") == 1 else 0)
        found.sort(key=lambda e: (e["firstTimestamp"], e["metadata"]["name"]))
        return [(e["reason"], e["message"], e.get("count") or 1) for e in found]
