"""CoreDNS: one process, its Corefile, and how it answers a question.

Plugins act in CoreDNS' compiled order: cache, rewrite, template, hosts, kubernetes, forward.
The records of the kubernetes plugin are the network's zone. A server that forwards to itself
is found by the loop plugin. A server that may not list what the plugin watches is not ready and
answers for no Service (`apiwatch`). Left out: transfers, prefetching, upstreams that are slow.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.server import Api
from simcluster.control.clusterdns.answercache import AnswerCache, kind_of
from simcluster.control.clusterdns.apiwatch import ApiWatch, ConfigurationError
from simcluster.control.clusterdns.corefile import CorefileError, Directive, ServerBlock, parse_corefile
from simcluster.control.clusterdns.querycount import QueryCount
from simcluster.control.clusterdns.querylog import LoggedClient, figures
from simcluster.control.clusterdns.transforms import from_hosts, from_template, rewritten
from simcluster.engine import MILLISECOND, SECOND, Timer
from simcluster.models.machine.container import Container
from simcluster.models.machine.names import NameAnswer, NameServer, is_address
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree
from simcluster.telemetry.exposition import instant
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Samples, counter, gauge, labels

#: The reload plugin looks every 30 s, plus up to 15 s of jitter (its defaults).
RELOAD_NS, RELOAD_JITTER_NS = 30 * SECOND, 15 * SECOND
#: Resolvers of the world outside that everybody can reach.
PUBLIC = ("1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9")
#: Port and the plugin that opens it.
READY_PORT = 8181
_EXTRA_PORTS = {8080: "health", READY_PORT: "ready", 9153: "prometheus"}
_ALIAS_DEPTH = 8
#: Time to live of records: the kubernetes plugin's default, and a common one of the world outside.
KUBERNETES_TTL_S, OUTSIDE_TTL_S = 5, 300
#: A question that the cache answers, a magnitude; the resolver that nodes have in their resolv.conf.
_CACHED_NS, _STUB = 60_000, "127.0.0.53"
#: The loop plugin asks for a name of its own right after the start; the answer comes back within this time.
_LOOP_NS = 80 * MILLISECOND

_PROCESS = Columns(
    (
        counter("coredns_panics_total", "A metrics that counts the number of panics."),
        gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds."),
    )
)
_ENABLED = Columns(
    (
        gauge(
            "coredns_plugin_enabled",
            "A metric that indicates whether a plugin is enabled on per server and zone basis.",
        ),
    )
)


class Question(NamedTuple):
    """A name on its way through the plugins, and how many rewrites and aliases it has behind it."""

    name: str
    depth: int = 0


class _Counted(NamedTuple):
    """What of a server block matters to counts: whether it `counts` at all, caches, the first upstream ("": none)."""

    block: ServerBlock
    counts: bool
    caches: tuple[Directive, ...]
    balances: bool
    upstream: str
    server: str
    zone: str
    where: Labels


def _counted(block: ServerBlock) -> _Counted:
    server, zone, forwards = f"dns://:{block.port}", _zone(block), block.find("forward")
    return _Counted(
        block, bool(block.find("prometheus")), tuple(block.find("cache")), bool(block.find("loadbalance")),
        _upstream(forwards[0].arguments[1:]) if forwards else "", server, zone, labels(server=server, zone=zone),
    )  # fmt: skip


class _Answering(NamedTuple):
    """Plugins of a server block that take part in an answer."""

    block: ServerBlock
    rewrite: list[Directive]
    template: list[Directive]
    hosts: list[Directive]
    kubernetes: list[Directive]
    forward: list[Directive]


def _answering(block: ServerBlock) -> _Answering:
    return _Answering(block, *(block.find(name) for name in _Answering._fields[1:]))


class CoreDns(WrappedProgram):
    """CoreDNS' main process.

    Args:
        api: what the kubernetes plugin lists; without one it knows the cluster from the start.

    Attributes:
        blocks: the configuration with which it serves.
        watch: what the kubernetes plugin has listed.
    """

    def __init__(self, container: Container, inner: Program, network: Network, api: Api | None = None) -> None:
        super().__init__(container, inner)
        self.network = network
        self.api = api
        self.watch: ApiWatch | None = None
        self.blocks: tuple[ServerBlock, ...] = ()
        self._text = ""
        self._path = _configuration(container)
        self._timer: Timer | None = None
        self._cache = AnswerCache(network, self._ask)
        self._count = QueryCount()
        self._counted: _Counted | None = None  # of the block that was asked last
        self._answering: _Answering | None = None  # likewise

    def start(self) -> None:
        """Read the Corefile; a mistake in it ends the process."""
        container = self.container
        try:
            self._text = FileTree(container).read(self._path)
            self.blocks = parse_corefile(self._text, self._path)
        except FileError:
            container.write(
                f"maxprocs: Leaving GOMAXPROCS={container.machine.cpu_cores}: CPU quota undefined", "stderr"
            )
            container.write(f"open {self._path}: no such file or directory", "stderr")
            container.exit(1)
            return
        except CorefileError as error:
            container.write(str(error), "stderr")
            container.exit(1)
            return
        if not self._look_at_cluster():
            return
        self.inner.start()
        self._cache.sim = container.sim
        if container.running and self._has("loop"):
            container.sim.after(_LOOP_NS, self._look_for_loop)
        if container.running and self._has("reload"):
            jitter = container.sim.stream("reload", container.container_id).uniform_ns(0, RELOAD_JITTER_NS)
            self._timer = container.sim.every(RELOAD_NS, self._reload, first_ns=container.sim.now + RELOAD_NS + jitter)

    def _look_at_cluster(self) -> bool:
        """List what the kubernetes plugin watches; False if the process cannot even begin to."""
        options = [directive.option("pods") for block in self.blocks for directive in block.find("kubernetes")]
        if self.api is None or not options:
            return True
        verified = any(option is not None and option[:1] == ("verified",) for option in options)
        try:
            self.watch = ApiWatch(self.api, self.container, self._on_synced, pods=verified)
        except ConfigurationError as error:
            self.container.write(f"plugin/kubernetes: {error}", "stderr")
            self.container.exit(1)
            return False
        self.watch.start()
        return True

    def _on_synced(self) -> None:
        self.network.version += 1

    @property
    def _knows_cluster(self) -> bool:
        return self.watch is None or self.watch.synced

    def answer(self, call: Call) -> Answer:
        """Answer a health check: the ready plugin waits for the kubernetes plugin."""
        if call.port != READY_PORT or self._knows_cluster:
            return self.inner.answer(call)
        self.container.write('[INFO] plugin/ready: Still waiting on: "kubernetes"')
        return Answer("ok", 503, "kubernetes")

    def steady(self, call: Call) -> object | None:
        """What a health check goes by."""
        return self.inner.steady(call) if self._knows_cluster else None

    def stop(self) -> None:
        """The process is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self.inner.stop()

    def listens_on(self, port: int) -> bool:
        """DNS on the ports of the blocks, and what plugins open."""
        if not self.inner.listens_on(53):
            return False
        plugin = _EXTRA_PORTS.get(port)
        if plugin is not None:
            return self._has(plugin)
        return any(block.port == port for block in self.blocks)

    def exposition(self, call: Call) -> Samples | Answer | None:
        """What the prometheus plugin shows, and others count while there is one."""
        if call.path != "/metrics" or _EXTRA_PORTS.get(call.port) != "prometheus":
            return None
        found = {Group(_PROCESS): _PROCESS.row((0, instant(self.container.started_ns)))}
        kept = self._cache.counts()
        caches = [block for block in self.blocks if block.find("cache")]
        found.update(
            self._count.samples(
                {(f"dns://:{block.port}", _zone(block), kind): kept[kind] for block in caches[:1] for kind in kept}
            )
        )
        for block in self.blocks:
            for zone in block.zones:
                for plugin in dict.fromkeys(directive.name for directive in block.directives):
                    own = labels(name=plugin, server=f"dns://:{block.port}", zone=zone if zone != "" else ".")
                    found[Group(_ENABLED, own)] = _ENABLED.row((1,))
        return found

    def _has(self, plugin: str) -> bool:
        return any(block.find(plugin) for block in self.blocks)

    def _look_for_loop(self) -> None:
        """End if a question that goes out comes back (plugin/loop)."""
        container = self.container
        if not container.running:
            return
        own = ("127.0.0.1", "localhost", container.sandbox.address, self.network.dns)
        for block in self.blocks:
            if not block.find("loop"):
                continue
            for directive in block.find("forward"):
                upstreams = [word.removeprefix("dns://").partition(":")[0] for word in directive.arguments[1:]]
                if not any(address and address in own for address in upstreams):
                    continue
                zone = directive.arguments[0] if directive.arguments[0] == "." else f"{directive.arguments[0]}."
                stream = container.sim.stream("loop", container.container_id)
                name = f"{stream.bits()}.{stream.bits()}.{zone}".replace("..", ".")
                port = 32768 + stream.bits() % 28000
                container.write(
                    f'[FATAL] plugin/loop: Loop (127.0.0.1:{port} -> :{block.port}) detected for zone "{zone}", '
                    f'see https://coredns.io/plugins/loop#troubleshooting. Query: "HINFO {name}"'
                )
                container.exit(1)
                return

    def _reload(self) -> None:
        try:
            text = FileTree(self.container).read(self._path)
        except FileError:
            return
        if text == self._text:
            return
        container, self._text = self.container, text
        container.write("[INFO] Reloading")
        try:
            self.blocks = parse_corefile(text, self._path)
        except CorefileError as error:
            container.write(f"[ERROR] Restart failed: {error}")
            container.write(f"[ERROR] plugin/reload: Corefile changed but reload failed: {error}")
            return
        self._cache.clear()
        container.write("[INFO] plugin/reload: Running configuration SHA512 = " + container.container_id * 2)
        container.write("[INFO] Reloading complete")
        self.network.version += 1

    # Answering.

    def asked_by(self, address: str) -> NameServer:
        """This server, as the log plugin sees a client of it."""
        return LoggedClient(self, self._log_of, self.container, address) if self._has("log") else self

    def _log_of(self, name: str) -> tuple[Directive, ...]:
        """The log plugin of the block that answers for a name."""
        block = self._block(name.lower())
        return () if block is None else tuple(block.find("log"))

    def query(self, name: str) -> NameAnswer:
        """The A records of a full name."""
        name = name.lower()
        block = self._block(name)
        if block is None:
            return self._ask(name)
        if self._counted is None or self._counted.block is not block:
            self._counted = _counted(block)
        counted = self._counted
        known = self._cache.find(name) if counted.caches else None
        if counted.counts:
            self._note(counted, name, known)
        if known is not None:
            return known
        answer = self._ask(name)
        if counted.counts:
            self._note_answer(counted, name, answer)
        if answer.code == "SERVFAIL" and block.find("errors") and self._knows_cluster:
            self._complain(block, name)
        for directive in counted.caches:
            self._cache.keep(directive, name, answer, _lifetime_s(block, name))
        return answer

    def _note(self, counted: _Counted, name: str, known: NameAnswer | None) -> None:
        """Count a question, both kinds of which come to the cache."""
        for _ in ("A", "AAAA") if counted.caches else ():
            self._count.note_cache(counted.server, counted.zone, kind_of(known) if known is not None else "")
        if known is not None:
            self._note_answer(counted, name, known, cached=True)

    def _note_answer(self, counted: _Counted, name: str, answer: NameAnswer, cached: bool = False) -> None:
        """Count the answers to both kinds."""
        plugin = "loadbalance" if counted.balances else "cache" if cached else "kubernetes"
        upstream = "" if cached or name.endswith(".cluster.local") else counted.upstream
        written = "" if answer.code in ("SERVFAIL", "REFUSED") else plugin
        for kind in ("A", "AAAA"):
            took_ns, asked, answered = figures(self.container, name, kind, answer)
            took_s = (_CACHED_NS if cached else took_ns) / SECOND
            self._count.note(counted.where, kind, answer, written, (took_s, asked, answered))
            if upstream:
                self._count.note_forward(upstream, answer.code, took_s)

    def _complain(self, block: ServerBlock, name: str) -> None:
        """What the errors plugin writes of a question that nobody answered."""
        container = self.container
        upstreams = [word for directive in block.find("forward") for word in directive.arguments[1:]]
        address = upstreams[0].removeprefix("dns://").partition(":")[0] if upstreams else ""
        if is_address(address):
            port = 32768 + container.sim.stream("dns-source-port", container.container_id).bits() % 28000
            text = f"read udp {container.sandbox.address}:{port}->{address}:53: i/o timeout"
        else:
            text = "plugin/kubernetes: no next plugin found"
        container.write(f"[ERROR] plugin/errors: 2 {name}. A: {text}")

    def _ask(self, name: str) -> NameAnswer:
        return self._answer(Question(name))

    def _answer(self, question: Question) -> NameAnswer:
        block = self._block(question.name)
        if block is None:
            return NameAnswer("REFUSED")
        name = question.name
        if self._answering is None or self._answering.block is not block:
            self._answering = _answering(block)
        plugins = self._answering
        for directive in plugins.rewrite:
            changed = rewritten(directive, name)
            if changed is not None:
                name = changed
                break
        for directive in plugins.template:
            made = from_template(directive, name)
            if made is not None:
                return self._follow(question, made.alias) if made.alias else made.answer
        for directive in plugins.hosts:
            address = from_hosts(directive, name, self._hosts_file(directive))
            if address:
                return NameAnswer("NOERROR", address)
        for directive in plugins.kubernetes:
            if any(_within(name, zone) for zone in directive.arguments or block.zones):
                if not self._knows_cluster:
                    return NameAnswer("SERVFAIL")
                answer = self._from_cluster(question._replace(name=name), directive)
                if answer.code != "NXDOMAIN" or directive.option("fallthrough") != ():
                    return answer
        for directive in plugins.forward:
            if _within(name, directive.arguments[0].rstrip(".")):
                return self._forward(directive.arguments[1:], name)
        return NameAnswer("REFUSED" if not block.directives else "SERVFAIL")

    def _block(self, name: str) -> ServerBlock | None:
        """The block with the longest zone that holds the name."""
        if len(self.blocks) == 1 and self.blocks[0].port == 53 and "" in self.blocks[0].zones:
            return self.blocks[0]
        best, length = None, -1
        for block in self.blocks:
            for zone in block.zones:
                if block.port == 53 and _within(name, zone) and len(zone) > length:
                    best, length = block, len(zone)
        return best

    def _from_cluster(self, question: Question, directive: Directive) -> NameAnswer:
        addresses = self.network.addresses_of(question.name) or self._of_pod(question.name, directive)
        if addresses:
            return NameAnswer("NOERROR", addresses)
        target = self.network.aliases.get(question.name)
        return NameAnswer("NXDOMAIN") if target is None else self._follow(question, target)

    def _follow(self, question: Question, target: str) -> NameAnswer:
        """What is behind an alias."""
        if question.depth >= _ALIAS_DEPTH:
            return NameAnswer("SERVFAIL")
        return self._answer(Question(target.lower(), question.depth + 1))

    def _hosts_file(self, directive: Directive) -> str:
        path = next((word for word in directive.arguments if word.startswith("/")), "")
        try:
            return FileTree(self.container).read(path) if path else ""
        except FileError:
            return ""

    def _of_pod(self, name: str, directive: Directive) -> tuple[str, ...]:
        """`10-244-1-7.shop.pod.cluster.local`, as far as the option `pods` allows."""
        labels = name.split(".")
        mode = (directive.option("pods") or ("disabled",))[0]
        if len(labels) != 5 or labels[2] != "pod" or mode == "disabled":
            return ()
        address = labels[0].replace("-", ".")
        if not is_address(address):
            return ()
        owner = self.network.sandboxes.get(address)
        if mode == "verified" and getattr(owner, "namespace", "") != labels[1]:
            return ()
        return (address,)

    def _forward(self, upstreams: tuple[str, ...], name: str) -> NameAnswer:
        for upstream in upstreams:
            address = upstream.removeprefix("dns://").removeprefix("tls://").partition(":")[0]
            if address.startswith("/"):  # the node's own resolv.conf
                return self._outside(name)
            if address in PUBLIC or address in self.network.nodes:
                return self._outside(name)
            owner = self.network.sandboxes.get(address)
            find = getattr(owner, "container_on", None)
            there = None if find is None else find(53)
            if there is not None and there is not self.container and hasattr(there.program, "query"):
                answer: NameAnswer = there.program.query(name)
                return answer
        return NameAnswer("SERVFAIL")

    def _outside(self, name: str) -> NameAnswer:
        address = self.network.outside.get(name)
        return NameAnswer("NXDOMAIN") if address is None else NameAnswer("NOERROR", (address,))


def _zone(block: ServerBlock) -> str:
    """The first zone of a block, as metrics name it."""
    return f"{next(iter(block.zones), '').rstrip('.')}."


def _upstream(words: tuple[str, ...]) -> str:
    """Address and port of the first upstream; of a resolv.conf that of the node's stub."""
    first = next(iter(words), "").removeprefix("dns://").removeprefix("tls://")
    return f"{_STUB}:53" if first.startswith("/") else first if ":" in first else f"{first}:53"


def _configuration(container: Container) -> str:
    words = (*container.spec.command, *container.spec.args)
    for at, word in enumerate(words):
        if word in ("-conf", "--conf") and at + 1 < len(words):
            return words[at + 1]
    return "/Corefile"


def _lifetime_s(block: ServerBlock, name: str) -> int:
    """The time to live of what the plugins answer: the kubernetes plugin's `ttl`, or that of the world."""
    for directive in block.find("kubernetes"):
        if any(_within(name, zone) for zone in directive.arguments or block.zones):
            words = directive.option("ttl")
            return int(words[0]) if words and words[0].isdigit() else KUBERNETES_TTL_S
    return OUTSIDE_TTL_S


def _within(name: str, zone: str) -> bool:
    zone = zone.rstrip(".")
    return not zone or name == zone or name.endswith("." + zone)
