"""CoreDNS: one process, its Corefile, and how it answers a question.

Plugins act in CoreDNS' compiled order: rewrite, template, hosts, kubernetes, forward. The
records of the kubernetes plugin are the network's zone. Left out: the cache (records change
at once), transfers, the loop check, upstreams that are slow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from simcluster.control.clusterdns.corefile import CorefileError, Directive, ServerBlock, parse_corefile
from simcluster.engine import SECOND, Timer
from simcluster.models.machine.container import Container
from simcluster.models.machine.names import NameAnswer
from simcluster.models.machine.network import Network
from simcluster.models.machine.program import Program, WrappedProgram
from simcluster.models.machine.shellfiles import FileError, FileTree

#: The reload plugin looks every 30 s, plus up to 15 s of jitter (its defaults).
RELOAD_NS, RELOAD_JITTER_NS = 30 * SECOND, 15 * SECOND
#: Resolvers of the world outside that everybody can reach.
PUBLIC = ("1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9")
#: Port and the plugin that opens it.
_EXTRA_PORTS = {8080: "health", 8181: "ready", 9153: "prometheus"}
_ALIAS_DEPTH = 8


class Question(NamedTuple):
    """A name on its way through the plugins, and how many rewrites and aliases it has behind it."""

    name: str
    depth: int = 0


class CoreDns(WrappedProgram):
    """CoreDNS' main process.

    Attributes:
        blocks: the configuration with which it serves.
    """

    def __init__(self, container: Container, inner: Program, network: Network) -> None:
        super().__init__(container, inner)
        self.network = network
        self.blocks: tuple[ServerBlock, ...] = ()
        self._text = ""
        self._path = _configuration(container)
        self._timer: Timer | None = None

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
        self.inner.start()
        if container.running and self._has("reload"):
            jitter = container.sim.stream("reload", container.container_id).uniform_ns(0, RELOAD_JITTER_NS)
            self._timer = container.sim.every(RELOAD_NS, self._reload, first_ns=container.sim.now + RELOAD_NS + jitter)

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

    def _has(self, plugin: str) -> bool:
        return any(block.find(plugin) for block in self.blocks)

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
        container.write("[INFO] plugin/reload: Running configuration SHA512 = " + container.container_id * 2)
        container.write("[INFO] Reloading complete")
        self.network.version += 1

    # Answering.

    def query(self, name: str) -> NameAnswer:
        """The A records of a full name."""
        return self._answer(Question(name.lower()))

    def _answer(self, question: Question) -> NameAnswer:
        block = self._block(question.name)
        if block is None:
            return NameAnswer("REFUSED")
        name = question.name
        for directive in block.find("rewrite"):
            changed = _rewritten(directive, name)
            if changed is not None:
                name = changed
                break
        for directive in block.find("template"):
            answer = _from_template(directive, name)
            if answer is not None:
                return answer
        for directive in block.find("hosts"):
            address = _from_hosts(directive, name)
            if address:
                return NameAnswer("NOERROR", address)
        for directive in block.find("kubernetes"):
            if any(_within(name, zone) for zone in directive.arguments or block.zones):
                answer = self._from_cluster(question._replace(name=name))
                if answer.code != "NXDOMAIN" or directive.option("fallthrough") != ():
                    return answer
        for directive in block.find("forward"):
            if _within(name, directive.arguments[0].rstrip(".")):
                return self._forward(directive.arguments[1:], name)
        return NameAnswer("REFUSED" if not block.directives else "SERVFAIL")

    def _block(self, name: str) -> ServerBlock | None:
        """The block with the longest zone that holds the name."""
        best, length = None, -1
        for block in self.blocks:
            for zone in block.zones:
                if block.port == 53 and _within(name, zone) and len(zone) > length:
                    best, length = block, len(zone)
        return best

    def _from_cluster(self, question: Question) -> NameAnswer:
        addresses = self.network.addresses_of(question.name)
        if addresses:
            return NameAnswer("NOERROR", addresses)
        target = self.network.aliases.get(question.name)
        if target is None:
            return NameAnswer("NXDOMAIN")
        if question.depth >= _ALIAS_DEPTH:
            return NameAnswer("SERVFAIL")
        return self._answer(Question(target.lower(), question.depth + 1))

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


def _configuration(container: Container) -> str:
    words = (*container.spec.command, *container.spec.args)
    for at, word in enumerate(words):
        if word in ("-conf", "--conf") and at + 1 < len(words):
            return words[at + 1]
    return "/Corefile"


def _within(name: str, zone: str) -> bool:
    zone = zone.rstrip(".")
    return not zone or name == zone or name.endswith("." + zone)


def _rewritten(directive: Directive, name: str) -> str | None:
    """The name after a rewrite rule, or None if the rule does not fit."""
    words = list(directive.arguments)
    if not words and directive.lines:
        words = list(directive.lines[0])
    if words and words[0] in ("stop", "continue"):
        words.pop(0)
    if not words and directive.lines:
        words = list(directive.lines[0])
    if words[:1] != ["name"] or len(words) < 3:
        return None
    kind = words[1] if words[1] in ("exact", "prefix", "suffix", "substring", "regex") and len(words) > 3 else ""
    old, new = (words[2], words[3]) if kind else (words[1], words[2])
    old_name, new_name = old.rstrip("."), new.rstrip(".")
    if kind == "regex":
        match = re.search(old, name + ".") or re.search(old, name)
        return None if match is None else _filled(new, match).rstrip(".")
    if kind == "suffix":
        return name[: -len(old_name)] + new_name if name.endswith(old_name) else None
    if kind == "prefix":
        return new + name[len(old) :] if name.startswith(old) else None
    if kind == "substring":
        return name.replace(old, new) if old in name else None
    return new_name if name == old_name else None


def _filled(text: str, match: re.Match[str]) -> str:
    return re.sub(r"\{(\d)\}", lambda part: match[int(part[1])] or "", text)


def _from_template(directive: Directive, name: str) -> NameAnswer | None:
    """What a template answers, or None if it does not fit."""
    if directive.arguments[1].upper() not in ("ANY", "A"):
        return None
    zones = directive.arguments[2:]
    if zones and not any(_within(name, zone) for zone in zones):
        return None
    patterns = [" ".join(words[1:]) for words in directive.lines if words[0] == "match"]
    match = next((found for p in patterns if (found := re.search(p, name + "."))), None)
    if patterns and match is None:
        return None
    answers = directive.option("answer")
    if answers is not None:
        words = " ".join(answers).split()
        if len(words) >= 2 and words[-2].upper() == "A":
            return NameAnswer("NOERROR", (words[-1],))
    code = directive.option("rcode")
    return NameAnswer(code[0].upper() if code else "NOERROR")


def _from_hosts(directive: Directive, name: str) -> tuple[str, ...]:
    return tuple(words[0] for words in directive.lines if name in words[1:] and words[0] != "fallthrough")
