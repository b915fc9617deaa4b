"""kube-proxy's process: what it reads when it starts, what it says, and that rules follow while it runs.

A change of the file takes effect when the process starts anew. Lines: klog's of kube-proxy 1.32.
"""

from __future__ import annotations

from simcluster.control.kubeproxy.configuration import (
    ConfigurationError,
    ProxyConfiguration,
    flags_of,
    from_file,
    from_mode,
)
from simcluster.control.kubeproxy.proxy import SYNC_BOUNDS, KubeProxy
from simcluster.engine import format_rfc3339
from simcluster.models.machine.container import Container
from simcluster.models.machine.imagereference import repository_of
from simcluster.models.machine.network import NodeRules
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.columns import Columns, Group, Samples, gauge, histogram

_CONTROLLERS = (
    ("config.go:199", "service config"),
    ("config.go:105", "endpoint slice config"),
    ("config.go:329", "node config"),
)
_UNSET = (
    "nodePortAddresses is unset; NodePort connections will be accepted on all local IPs. Consider using "
    "`--nodeport-addresses primary`"
)


#: What kube-proxy lists of EndpointSlices.
_LISTED = (
    "/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless%2C"
    "%21service.kubernetes.io%2Fservice-proxy-name&limit=500&resourceVersion=0"
)


#: healthzBindAddress and metricsBindAddress (here on all addresses, as bindAddress is).
HEALTH_PORT, METRICS_PORT = 10256, 10249
_SYNCS = Columns(
    (
        histogram("kubeproxy_sync_proxy_rules_duration_seconds", "[ALPHA] SyncProxyRules latency in seconds",
                  SYNC_BOUNDS.shown),
        gauge("kubeproxy_sync_proxy_rules_last_timestamp_seconds", "[ALPHA] The last time proxy rules were "
              "successfully synced"),
        gauge("kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds", "[ALPHA] The last time a sync of proxy rules "
              "was queued"),
    )
)  # fmt: skip


#: Builds that write wrong probabilities: how many times as many connections the first endpoint gets as all others.
UNEVEN = {"jackcuii/kube-proxy": 9}


class ProxyProgram(WrappedProgram):
    """kube-proxy's process: while it runs, the rules of its node follow the Services."""

    def __init__(self, container: Container, inner: Program, proxy: KubeProxy) -> None:
        super().__init__(container, inner)
        self.proxy = proxy

    def start(self) -> None:
        """Read the configuration; list and watch. A mistake in it ends the process."""
        try:
            configuration = self._configuration()
        except ConfigurationError as error:
            shown = str(error).replace('"', '\\"')
            self._say("E", "run.go:72", f'"command failed" err="{shown}"')
            self.container.exit(1)
            return
        self._introduce(configuration)
        self.inner.start()
        self.proxy.min_sync_ns = configuration.min_sync_ns
        machine = self.container.machine
        machine.network.rules.setdefault(machine.name, NodeRules()).mode = configuration.mode
        self.proxy.bias = UNEVEN.get(repository_of(self.container.spec.image), 0)
        self.proxy.clock, self.proxy.complains = self.container.machine.os.clock, self._refused
        self.proxy.start()

    def stop(self) -> None:
        """The rules stay as they are."""
        self.inner.stop()
        self.proxy.stop()

    def listens_on(self, port: int) -> bool:
        """Health checks, and metrics beside them."""
        return self.inner.listens_on(HEALTH_PORT if port == METRICS_PORT else port)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """How often it has written rules, and when last."""
        if call.port != METRICS_PORT or call.path != "/metrics":
            return None
        proxy = self.proxy
        stamps = (instant(proxy.synced_ns), instant(proxy.queued_ns))
        return {Group(_SYNCS): _SYNCS.row((*proxy.syncs.numbers(), *stamps))}

    def _configuration(self) -> ProxyConfiguration:
        spec = self.container.spec
        flags = flags_of((*spec.command, *spec.args))
        path = flags.get("config", "")
        if not path:
            return from_mode(flags.get("proxy-mode", ""))
        try:
            return from_file(FileTree(self.container).read(path))
        except FileError as error:
            raise ConfigurationError(f"failed complete: open {path}: {str(error).lower()}") from None

    def _introduce(self, configuration: ProxyConfiguration) -> None:
        machine, mode = self.container.machine, configuration.mode
        self._say("I", "server_linux.go:66", f'"Using {mode} proxy"')
        self._say("I", "server.go:698", f'"Successfully retrieved node IP(s)" IPs=["{machine.address}"]')
        self._say("E", "server.go:234", f'"Kube-proxy configuration may be incomplete or incorrect" err="{_UNSET}"')
        self._say("I", "server.go:243", '"kube-proxy running in dual-stack mode" primary ipFamily="IPv4"')
        self._say("I", "server_linux.go:170", f'"Using {mode} Proxier"')
        version = self.container.spec.image.partition("@")[0].rpartition(":")[2]
        self._say("I", "server.go:497", f'"Version info" version="{version}"')
        self._say("I", "server.go:499", '"Golang settings" GOGC="" GOMAXPROCS="" GOTRACEBACK=""')
        for place, name in _CONTROLLERS:
            self._say("I", place, f'"Starting {name} controller"')
            self._say("I", "shared_informer.go:313", f"Waiting for caches to sync for {name}")
        for _, name in _CONTROLLERS:
            self._say("I", "shared_informer.go:320", f"Caches are synced for {name}")

    def _refused(self, why: str) -> None:
        """The reflector of the EndpointSlices says why it cannot list them."""
        address = getattr(self.proxy.client.api, "address", "")
        error = f'failed to list *v1.EndpointSlice: Get \\"https://{address}{_LISTED}\\": {why}'
        place = "k8s.io/client-go/informers/factory.go:160"
        text = f'"Unhandled Error" err="{place}: Failed to watch *v1.EndpointSlice: {error}"'
        self._say("E", "reflector.go:158", f'{text} logger="UnhandledError"')

    def _say(self, level: str, place: str, text: str) -> None:
        stamp = format_rfc3339(self.container.machine.os.clock.now_ns(), digits=6)
        self.container.write(f"{level}{stamp[5:7]}{stamp[8:10]} {stamp[11:26]}       1 {place}] {text}", "stderr")
