"""Reading a Corefile: server blocks, their plugins, and what CoreDNS says of mistakes.

Source: caddyfile's parser as CoreDNS 1.11 embeds it, and the setup functions of the plugins
that take part in answering. Left out: imports, snippets, protocols other than plain DNS.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Directives of CoreDNS 1.11.3 (plugin.cfg).
PLUGINS = (
    *("acl", "any", "auto", "autopath", "azure", "bind", "bufsize", "cache", "cancel", "chaos", "clouddns", "debug"),
    *("dns64", "dnssec", "dnstap", "erratic", "errors", "etcd", "file", "forward", "geoip", "grpc", "header", "health"),
    *("hosts", "k8s_external", "kubernetes", "loadbalance", "local", "log", "loop", "metadata", "minimal", "nsid"),
    *("on", "pprof", "prometheus", "quic", "ready", "reload", "rewrite", "root", "route53", "secondary", "sign"),
    *("template", "timeouts", "tls", "trace", "transfer", "tsig", "view", "whoami"),
)
_KUBERNETES = (
    *("endpoint", "tls", "kubeconfig", "namespaces", "labels", "pods", "endpoint_pod_names", "ttl", "noendpoints"),
    *("transfer", "fallthrough", "ignore", "namespace_labels"),
)
_TOKEN = re.compile(r'\s*(?:(#[^\n]*)|("(?:\\.|[^"\\])*")|([^\s"]+))')


class CorefileError(Exception):
    """The configuration is refused; the text is CoreDNS'."""


class Directive(NamedTuple):
    """One plugin of a server block: its arguments and the lines inside of its braces."""

    name: str
    arguments: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    line: int

    def option(self, name: str) -> tuple[str, ...] | None:
        """Arguments of the first inner line with this name."""
        return next((words[1:] for words in self.lines if words[0] == name), None)


class ServerBlock(NamedTuple):
    """Zones (without final dot; the root is empty), port and plugins."""

    zones: tuple[str, ...]
    port: int
    directives: tuple[Directive, ...]

    def find(self, name: str) -> list[Directive]:
        """Every directive of a plugin."""
        return [directive for directive in self.directives if directive.name == name]


def parse_corefile(text: str, path: str = "/etc/coredns/Corefile") -> tuple[ServerBlock, ...]:
    """The server blocks. Raises CorefileError."""
    parser = _Parser(text, path)
    blocks = []
    while parser.rows:
        blocks.append(parser.block())
    if not blocks:
        raise CorefileError(f"{path}:1 - Error during parsing: Unexpected EOF")
    return tuple(blocks)


class _Parser:
    """The rows of a file, each with its number and its words."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.last = text.count("\n") + 1
        self.rows = [(number, words) for number, line in enumerate(text.split("\n"), 1) if (words := _words(line))]

    def fail(self, line: int, text: str) -> CorefileError:
        """An error at a line."""
        return CorefileError(f"{self.path}:{line} - Error during parsing: {text}")

    def block(self) -> ServerBlock:
        """The next server block."""
        line, words = self.rows.pop(0)
        if words[-1] != "{":
            if len(words) == 1 and words[0] == "}":
                raise self.fail(line, "Unexpected '}' because no matching opening brace")
            raise self.fail(line, f"Unknown directive '{words[0]}'" if self.rows else "Unexpected EOF")
        zones, ports = [], []
        for word in words[:-1]:
            zone, port = _address(word.rstrip(","))
            zones.append(zone)
            ports.append(port)
        if not zones:
            raise self.fail(line, "Unexpected token '{', expecting a server block key")
        directives = []
        while True:
            if not self.rows:
                raise self.fail(self.last, "Unexpected EOF")
            line, words = self.rows.pop(0)
            if words == ["}"]:
                break
            directives.append(self.directive(line, words))
        return ServerBlock(tuple(zones), ports[0], tuple(directives))

    def directive(self, line: int, words: list[str]) -> Directive:
        """One plugin and its block."""
        name = words[0]
        if name not in PLUGINS:
            raise self.fail(line, f"Unknown directive '{name}'")
        inner: list[tuple[str, ...]] = []
        if words[-1] == "{":
            words = words[:-1]
            depth = 1
            while depth:
                if not self.rows:
                    raise self.fail(self.last, "Unexpected EOF")
                _, row = self.rows.pop(0)
                depth += row.count("{") - row.count("}")
                if depth and row != ["}"]:
                    inner.append(tuple(word for word in row if word != "{"))
        found = Directive(name, tuple(words[1:]), tuple(inner), line)
        self.check(found)
        return found

    def check(self, found: Directive) -> None:
        """What the plugin's setup function refuses."""
        where = f"{self.path}:{found.line} - Error during parsing: "
        if found.name == "kubernetes":
            for words in found.lines:
                if words[0] not in _KUBERNETES:
                    raise CorefileError(f"plugin/kubernetes: {where}unknown property '{words[0]}'")
        elif found.name == "forward":
            if len(found.arguments) < 2:
                text = "Wrong argument count or unexpected line ending after "
                raise CorefileError(f"plugin/forward: {where}{text}'{(found.arguments or ('forward',))[-1]}'")
        elif found.name == "template":
            if len(found.arguments) < 2:
                text = "Wrong argument count or unexpected line ending after "
                raise CorefileError(f"plugin/template: {where}{text}'{(found.arguments or ('template',))[-1]}'")
            for words in found.lines:
                if words[0] == "match":
                    try:
                        re.compile(" ".join(words[1:]))
                    except re.error as error:
                        raise CorefileError(f"plugin/template: could not parse regex: {error}") from None
        elif found.name == "rewrite" and not found.arguments and not found.lines:
            raise CorefileError(
                f"plugin/rewrite: {where}Wrong argument count or unexpected line ending after 'rewrite'"
            )


def _words(line: str) -> list[str]:
    words = []
    for match in _TOKEN.finditer(line):
        if match[1] is not None:
            break
        word = match[2][1:-1] if match[2] is not None else match[3]
        if word is not None:
            words.append(word)
    return words


def _address(word: str) -> tuple[str, int]:
    zone, _, port = word.removeprefix("dns://").rpartition(":")
    if not port.isdigit():
        return word.rstrip("."), 53
    return zone.rstrip("."), int(port)
