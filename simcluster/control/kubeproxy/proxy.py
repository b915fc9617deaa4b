"""kube-proxy's rules, one set per node.

It watches Services and EndpointSlices and programs the node's rules in batches: at most
once per `min_sync_ns`. Between a change and the sync the rules are stale and packets
go where they went before, to a pod that may be gone; on a node that is cut off from the API
server, or by whose clock that server's new certificate is not valid, they stay stale until that is over.

A virtual address without a ready endpoint rejects; while every endpoint of a Service is
terminating, those that still serve are used (KEP-1669, ProxyTerminatingEndpoints). With a
traffic policy Local only endpoints on the node count; if there are none, packets are dropped.
Left out: how modes choose among backends (all as iptables does, at random), health check node ports,
source ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simcluster.api.client import Client
from simcluster.api.objects import name_of, namespace_of
from simcluster.api.server import Api
from simcluster.api.store import Change
from simcluster.control.controller import Informer, account_user
from simcluster.control.kubeproxy.rulebook import NO_RULES, SLICES, Rule, RuleBook, ServiceRules, service_of
from simcluster.engine import MILLISECOND, SECOND, FlatDict, Simulation, Timer
from simcluster.models.machine.kernel.clock import BACKDATED_NS, CERTIFICATE_NS, WallClock
from simcluster.models.machine.network import Network, ServiceKey
from simcluster.telemetry.metrics.tally import Bounds, Tally

#: `iptables.minSyncPeriod`, default 1 s (kube-proxy configuration v1alpha1).
MIN_SYNC_PERIOD_NS = 1 * SECOND
#: Buckets of the sync's duration: ExponentialBuckets(0.001, 2, 15).
SYNC_BOUNDS = Bounds.of(
    *("0.001", "0.002", "0.004", "0.008", "0.016", "0.032", "0.064", "0.128", "0.256", "0.512", "1.024", "2.048"),
    *("4.096", "8.192", "16.384"),
)
#: One iptables-restore of a small cluster; grows with the number of rules.
SYNC_COST_NS = 30 * MILLISECOND
#: A reflector lists anew within a second or two after its watch broke (backoff 0.8 s with jitter).
RELIST_NS = 2 * SECOND
#: How often a reflector tries again when every attempt fails: the cap of its backoff (client-go, reflector.go).
RECONNECT_NS = 30 * SECOND

#: A rule unlike any that is worked out.
_ANOTHERS = Rule((), drop=True, sticky=True)


class KubeProxy:
    """The service rules of one node.

    Args:
        node: the node whose rules it programs.
        network: where the rules live.
        book: works the rules out; shared with the proxies of other nodes.

    Attributes:
        min_sync_ns: shortest time between two syncs.
        clock: of its node; by it the API server's certificate is judged.
        complains: given the reason why a new connection fails.
        bias: so many times as many connections the first of several endpoints gets as all others; 0: all alike.
        syncs: how long its process has taken to write rules; `synced_ns` when last, `queued_ns` when it was to.
    """

    def __init__(self, sim: Simulation, api: Api, network: Network, node: str, book: RuleBook | None = None) -> None:
        self.sim = sim
        self.node = node
        self.network = network
        self.client = Client(api, account_user("kube-proxy"), "kube-proxy")
        self._book = book or RuleBook(api.store)
        self.running = False
        self._informers: list[tuple[str, Informer]] = []
        self._dirty: dict[tuple[str, str], None] = {}
        self._programmed: dict[tuple[str, str], ServiceRules] = FlatDict()
        self.min_sync_ns = sim.parameter("kubeproxy.sync", MIN_SYNC_PERIOD_NS)
        self.bias = 0
        self._written_with = 0  # the bias of what is programmed
        self._last_sync_ns = -MIN_SYNC_PERIOD_NS
        self.syncs, self.synced_ns, self.queued_ns = Tally(SYNC_BOUNDS), 0, 0
        self._scheduled: Timer | None = None
        self._waits = False  # for its link to the API server
        self.clock: WallClock | None = None
        self.complains: Callable[[str], None] | None = None
        self._trusted_ns = api.certificate_ns

    def start(self) -> None:
        """The process starts: list everything, then follow it."""
        if self.running:
            return
        self.running = True
        self.syncs, self.synced_ns, self.queued_ns = Tally(SYNC_BOUNDS), 0, 0
        self._trusted_ns = -1  # it has no connection yet
        store = self.client.cache
        # What a former process programmed and is no longer wanted goes with the first sync.
        self._dirty = dict.fromkeys(self._programmed)
        if self.bias != self._written_with:  # what stands there is another build's: every rule is written anew
            self._written_with = self.bias
            for service, written in self._programmed.items():
                self._programmed[service] = ServiceRules(dict.fromkeys(written.rules, _ANOTHERS))
        for resource in ("services", SLICES):
            informer = Informer(self.sim, f"kube-proxy/{self.node}", resource, self._changed)
            for obj in store.objects(resource):
                informer.notify(Change("ADDED", resource, obj, None, store.version))
            store.subscribe(resource, informer)
            self._informers.append((resource, informer))

    def stop(self) -> None:
        """The process ends: the node's rules stay as they are."""
        self.running = False
        for resource, informer in self._informers:
            self.client.cache.unsubscribe(resource, informer)
        self._informers = []
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None

    def _changed(self, change: Change) -> None:
        if not self.running:
            return
        obj = change.object
        key = service_of(obj) if change.resource == SLICES else (namespace_of(obj), name_of(obj))
        self._dirty[key] = None
        self.queued_ns = self.sim.now
        if self._scheduled is None:
            earliest = max(self.sim.now, self._last_sync_ns + self.min_sync_ns)
            self._scheduled = self.sim.at(earliest + SYNC_COST_NS, self._sync)

    def _cut_off(self) -> bool:
        """Whether nothing of the API server reaches this node: its rules stay what they were."""
        links = self.network.links
        if links.calm:
            return False
        server = self.network.nodes.get(str(getattr(self.client.api, "address", "")).partition(":")[0], "")
        return self.network.path(self.node, server).cut

    def _link_changed(self) -> None:
        if not self._cut_off():
            self.network.links.listeners.remove(self._link_changed)
            self._waits = False
            if self.running and self._scheduled is None:
                self._scheduled = self.sim.after(RELIST_NS, self._sync)

    def _distrusts(self) -> bool:
        """Whether it refuses the API server's certificate, which is another one since it connected."""
        clock, issued_ns = self.clock, self.client.api.certificate_ns
        if clock is None or issued_ns == self._trusted_ns:
            return False
        wrong = clock.certificate_error(issued_ns - BACKDATED_NS, issued_ns + CERTIFICATE_NS)
        if wrong and self.complains is not None:
            self.complains(f"tls: failed to verify certificate: {wrong}")
        self._trusted_ns = self._trusted_ns if wrong else issued_ns
        return bool(wrong)

    def _sync(self) -> None:
        self._scheduled = None
        if self._distrusts():
            self._scheduled = self.sim.after(RECONNECT_NS, self._sync)
            return
        if self._cut_off():
            if not self._waits:
                self._waits = True
                self.network.links.listeners.append(self._link_changed)
            return
        self._last_sync_ns = self.synced_ns = self.sim.now
        self.syncs.observe(SYNC_COST_NS)
        dirty, self._dirty = self._dirty, {}
        for namespace, name in dirty:
            self._program(namespace, name)

    def _program(self, namespace: str, name: str) -> None:
        wanted = self._book.rules(namespace, name, self.node)
        known = self._programmed.get((namespace, name), NO_RULES)
        if wanted is not known:
            self._write(known.rules, wanted.rules)
        if wanted.rules:
            self._programmed[namespace, name] = wanted
        else:
            self._programmed.pop((namespace, name), None)

    def _write(self, known: Mapping[ServiceKey, Rule], wanted: Mapping[ServiceKey, Rule]) -> None:
        for key in known:
            if key not in wanted:
                self.network.set_rules(self.node, key, None)
        for key, rule in wanted.items():
            if known.get(key) != rule:
                backends = rule.backends
                if self.bias and len(backends) > 1:
                    backends = backends[:1] * (self.bias * (len(backends) - 1)) + backends[1:]
                self.network.set_rules(self.node, key, backends, drop=rule.drop, sticky=rule.sticky)
