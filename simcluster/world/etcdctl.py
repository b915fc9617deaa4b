"""`etcdctl` 3.5 over what the API server stores: on a node of the control plane and in etcd's container.

Keys are those that the API server uses (`/registry/…`). Values are shown as JSON, as with the API server's
`--storage-media-type=application/json`. As the real client it needs an authority, a certificate and its key, which are
read where it runs. Left out: watches, leases, users, compaction by hand, changes below /registry but removals.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from simcluster.engine import MILLISECOND, SECOND, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.machine.certificate import blocks, read
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.userland.outcome import Outcome
from simcluster.models.userland.paths import FileError
from simcluster.telemetry.logql.units import go_duration

if TYPE_CHECKING:
    from simcluster.world.clusterview import ClusterView

VERSION = "3.5.16"
#: How long a command waits (--command-timeout).
PATIENCE_NS = 5 * SECOND
REGISTRY = "/registry"
#: Where kinds lie that are not below their plural (pkg/registry, storage prefixes of kube-apiserver 1.32).
_PLACES = {
    "nodes": "minions", "services": "services/specs", "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress", "replicationcontrollers": "controllers",
    "podsecuritypolicies.policy": "podsecuritypolicy", "ingressclasses.networking.k8s.io": "ingressclasses",
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
    "customresourcedefinitions.apiextensions.k8s.io": "apiextensions.k8s.io/customresourcedefinitions",
}  # fmt: skip
#: Groups of Kubernetes itself: their resources lie below the plural alone.
_OWN_GROUPS = ("apps", "batch", "autoscaling", "policy", "extensions")
_FLAGS = {
    "--endpoints": "", "--cacert": "", "--cert": "", "--key": "", "-w": "--write-out", "--write-out": "",
    "--command-timeout": "", "--dial-timeout": "", "--limit": "", "--rev": "", "--order": "", "--sort-by": "",
    "--user": "", "--password": "", "--name": "", "--data-dir": "",
}  # fmt: skip
_SWITCHES = (
    *("--prefix", "--keys-only", "--count-only", "--print-value-only", "--from-key", "--hex", "--debug", "--cluster"),
    *("--insecure-skip-tls-verify", "--insecure-transport", "--consistency=l", "--consistency=s", "--prev-kv"),
)
_NEEDS = " command needs one argument as key and an optional argument as range_end\n"
_FORMS = ("simple", "table", "json", "fields")


class Asked(NamedTuple):
    """A command line: words, values of flags, switches, and what is wrong with it."""

    words: list[str]
    values: dict[str, str]
    switches: list[str]
    problem: str = ""


def parse(args: list[str], env: Mapping[str, str]) -> Asked:
    """Read a command line; variables stand for flags that are not given."""
    words: list[str] = []
    switches: list[str] = []
    values = {
        flag: env[name]
        for name, flag in (("ETCDCTL_ENDPOINTS", "--endpoints"), ("ETCDCTL_CACERT", "--cacert"),
                           ("ETCDCTL_CERT", "--cert"), ("ETCDCTL_KEY", "--key"),
                           ("ETCDCTL_WRITE_OUT", "--write-out"))
        if env.get(name)
    }  # fmt: skip
    rest = list(args)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _FLAGS:
            if not equals and not rest:
                return Asked([], {}, [], f"Error: flag needs an argument: {name}")
            values[_FLAGS[name] or name] = value if equals else rest.pop(0)
        elif word in _SWITCHES or (name in _SWITCHES and value in ("true", "false")):
            if value != "false":
                switches.append(name if value in ("true", "") else word)
        elif word.startswith("-") and len(word) > 1:
            kind = "unknown flag" if word.startswith("--") else f"unknown shorthand flag: '{word[1]}' in"
            colon = ":" if word.startswith("--") else ""
            return Asked([], {}, [], f"Error: {kind}{colon} {word}")
        else:
            words.append(word)
    return Asked(words, values, switches)


class EtcdCtl:
    """The client, where somebody runs it.

    Args:
        machine: whose etcd it asks, and whose clock it has.
        read_file: text of a file there. Raises FileError.
    """

    def __init__(self, world: ClusterView, machine: Machine, read_file: Callable[[str], str]) -> None:
        self.world = world
        self.machine = machine
        self.read_file = read_file
        self.store = world.api.store

    def run(self, args: list[str], env: Mapping[str, str]) -> Outcome:
        """Run `etcdctl ARGS`."""
        asked = parse(args, env)
        if asked.problem:
            return Outcome("", f"{asked.problem}\n", 1)
        verb, rest = " ".join(asked.words[:2]), asked.words[2:]
        if verb not in _VERBS:
            verb, rest = " ".join(asked.words[:1]), asked.words[1:]
        if not verb or verb == "help":
            return Outcome("NAME:\n\tetcdctl - A simple command line client for etcd3.\n\nUSAGE:\n\tetcdctl [flags]\n")
        if verb not in _VERBS:
            return Outcome("", f'Error: unknown command "{asked.words[0]}" for "etcdctl"\n', 1)
        if asked.values.get("--write-out", "simple") not in _FORMS:
            return Outcome("", f'Error: unknown output format "{asked.values["--write-out"]}"\n', 1)
        needs, do = _VERBS[verb]
        if needs:
            refused = self._dial(asked, verb)
            if refused is not None:
                return refused
        return do(self, asked, rest)

    # Connections.

    def endpoints(self, asked: Asked) -> list[str]:
        """Those that are asked."""
        given = asked.values.get("--endpoints", "").split(",")
        return [text for text in given if text] or ["127.0.0.1:2379"]

    def _dial(self, asked: Asked, verb: str) -> Outcome | None:
        """Why no endpoint can be asked, or None."""
        for flag in ("--cacert", "--cert", "--key"):
            path = asked.values.get(flag, "")
            if path:
                try:
                    self.read_file(path)
                except FileError as error:
                    return Outcome("", f"Error: open {path}: {str(error).lower()}\n", 1)
        if bool(asked.values.get("--cert")) != bool(asked.values.get("--key")):
            key, mine = asked.values.get("--key", ""), asked.values.get("--cert", "")
            said = f"Error: KeyFile and CertFile must both be present[key: {key}, cert: {mine}]\n"
            return Outcome("", said, 1)
        whys = [self._refused(asked, endpoint) for endpoint in self.endpoints(asked)]
        if verb == "endpoint health":
            return None
        if not all(whys):
            return None
        said = self._warned(self.endpoints(asked)[0], whys[0]) + "Error: context deadline exceeded\n"
        return Outcome("", said, 1, PATIENCE_NS)

    def _refused(self, asked: Asked, endpoint: str) -> str:
        """Why an endpoint does not answer, or empty."""
        scheme, _, place = endpoint.rpartition("://")
        host, _, port = place.rpartition(":")
        address = self.machine.address if host in ("localhost", "127.0.0.1", "") else host
        owner = self.world.network.nodes.get(address, "")
        there = self.world.machines.get(owner) if owner else None
        runs = there is not None and there.runs and there.container_on(2379) is not None
        listening = runs and port == "2379"
        if not listening or not self.world.api.storing:
            return f"dial tcp {place}: connect: connection refused"
        if scheme != "https" and not asked.values.get("--cacert"):
            return "error reading server preface: EOF"
        if not asked.values.get("--cacert") and "--insecure-skip-tls-verify" not in asked.switches:
            return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        if not asked.values.get("--cert"):
            return "remote error: tls: certificate required"
        mine = self._certificate(asked.values["--cert"])
        authority = self._of_node("/etc/kubernetes/pki/etcd/ca.crt")
        if mine is None or authority is None or (mine.issuer, mine.issuer_key) != (authority.subject, authority.key):
            return "remote error: tls: bad certificate"
        if mine.not_after_ns < self.machine.os.clock.now_ns():
            return "remote error: tls: expired certificate"
        trusted = self._certificate(asked.values.get("--cacert", ""))
        if "--insecure-skip-tls-verify" not in asked.switches and (trusted is None or trusted.key != authority.key):
            return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        return ""

    def _certificate(self, path: str) -> Any:
        try:
            found = blocks(self.read_file(path))
        except FileError:
            return None
        return read(found[0]) if found else None

    def _of_node(self, path: str) -> Any:
        found = self.machine.files.find(path)
        held = blocks(found.text) if found is not None else []
        return read(held[0]) if held else None

    def _warned(self, endpoint: str, why: str) -> str:
        place = endpoint.rpartition("://")[2]
        error = (
            "rpc error: code = DeadlineExceeded desc = latest balancer error: last connection error: connection error: "
            f'desc = "transport: Error while dialing: {why}"'
            if why.startswith("dial")
            else "rpc error: code = DeadlineExceeded desc = latest balancer error: last connection error: connection "
            f'error: desc = "transport: authentication handshake failed: {why}"'
        )
        stamp = format_rfc3339(self.machine.os.clock.now_ns(), digits=6)
        line = {"level": "warn", "ts": stamp, "logger": "etcd-client",
                "caller": "v3@v3.5.16/retry_interceptor.go:63", "msg": "retrying of unary invoker failed",
                "target": f"etcd-endpoints://0xc00002c000/{place}", "attempt": 0, "error": error}  # fmt: skip
        return json.dumps(line, separators=(",", ":")) + "\n"

    # What is there.

    def member(self, machine: Machine | None = None) -> int:
        """A member's number."""
        return mix(self.machine.sim.streams.key("etcd", (machine or self.machine).name), 0)

    def members(self) -> list[Machine]:
        """Nodes with an etcd."""
        return [one for one in self.world.machines.values() if one.files.find("/etc/kubernetes/pki/etcd/ca.crt")]

    def took_ns(self) -> int:
        """What a proposal takes: the network, and an fsync on the drive of the node."""
        storage = self.machine.built_storage
        fsync = MILLISECOND if storage is None else int(storage.mounts.at("/var/lib/etcd").disk.write_ns())
        return 3 * MILLISECOND + fsync + mix(self.member(), self.store.version) % (4 * MILLISECOND)

    def keys(self) -> dict[str, tuple[str, str, str]]:
        """Every key, and the resource, namespace and name behind it; sorted."""
        found = {}
        for resource in self.store.resources():
            head = place_of(resource)
            for obj in self.store.objects(resource):
                metadata = obj["metadata"]
                namespace = metadata.get("namespace", "")
                path = f"{REGISTRY}/{head}/" + (f"{namespace}/" if namespace else "") + metadata["name"]
                found[path] = (resource, namespace, metadata["name"])
        return dict(sorted(found.items()))

    def value(self, where: tuple[str, str, str]) -> str:
        """The stored value."""
        obj = self.store.get(*where)
        return json.dumps(obj, separators=(",", ":"), ensure_ascii=False, default=dict)

    def size(self) -> int:
        """Bytes of the database: values and keys, in pages of 4 KiB."""
        total = sum(len(key) + len(self.value(where)) for key, where in self.keys().items())  # integers
        return (total // 4096 + 6) * 4096

    # Commands.

    def health(self, asked: Asked, rest: list[str]) -> Outcome:
        """endpoint health."""
        rows, out, errors, sick = [], "", "", False
        for endpoint in self._chosen(asked):
            why = self._refused(asked, endpoint)
            took = go_duration(PATIENCE_NS + 1_204_331 if why else self.took_ns())
            sick = sick or bool(why)
            rows.append([endpoint, "false" if why else "true", took, "context deadline exceeded" if why else ""])
            errors += self._warned(endpoint, why) if why else ""
            said = "is unhealthy: failed to commit proposal: context deadline exceeded\n" if why else (
                f"is healthy: successfully committed proposal: took = {took}\n"
            )  # fmt: skip
            out += f"{endpoint} {said}"
        form = asked.values.get("--write-out", "simple")
        if form == "table":
            out = table(["ENDPOINT", "HEALTH", "TOOK", "ERROR"], rows)
        elif form == "json":
            out = json.dumps([{"endpoint": a, "health": b == "true", "took": c, **({"error": d} if d else {})}
                              for a, b, c, d in rows], separators=(",", ":")) + "\n"  # fmt: skip
        delay = PATIENCE_NS if sick else 0
        return Outcome(out, errors + ("Error: unhealthy cluster\n" if sick else ""), 1 if sick else 0, delay)

    def _chosen(self, asked: Asked) -> list[str]:
        if "--cluster" in asked.switches:
            return [f"https://{one.address}:2379" for one in self.members()]
        return self.endpoints(asked)

    def status(self, asked: Asked, rest: list[str]) -> Outcome:
        """endpoint status."""
        index, size, flags = self.store.version, self.size(), ("true", "false", "2")
        rows = [
            [endpoint, f"{self.member():x}", VERSION, _megabytes(size), *flags, str(index), str(index), ""]
            for endpoint in self._chosen(asked)
        ]
        form = asked.values.get("--write-out", "simple")
        if form == "table":
            heads = ["ENDPOINT", "ID", "VERSION", "DB SIZE", "IS LEADER", "IS LEARNER", "RAFT TERM", "RAFT INDEX",
                     "RAFT APPLIED INDEX", "ERRORS"]  # fmt: skip
            return Outcome(table(heads, rows))
        if form == "json":
            header = {"cluster_id": self.member() >> 1, "member_id": self.member(), "revision": index, "raft_term": 2}
            found = [{"Endpoint": row[0], "Status": {"header": header, "version": VERSION, "dbSize": size, "leader":
                      self.member(), "raftIndex": index, "raftTerm": 2, "raftAppliedIndex": index, "dbSizeInUse": size}}
                     for row in rows]  # fmt: skip
            return Outcome(json.dumps(found, separators=(",", ":")) + "\n")
        return Outcome("".join(", ".join(row) + "\n" for row in rows))

    def member_list(self, asked: Asked, rest: list[str]) -> Outcome:
        """member list."""
        rows = [
            [f"{self.member(one):x}", "started", one.name, f"https://{one.address}:2380", f"https://{one.address}:2379",
             "false"]
            for one in self.members()
        ]  # fmt: skip
        form = asked.values.get("--write-out", "simple")
        if form == "table":
            return Outcome(table(["ID", "STATUS", "NAME", "PEER ADDRS", "CLIENT ADDRS", "IS LEARNER"], rows))
        if form == "json":
            listed = [
                {"ID": int(row[0], 16), "name": row[2], "peerURLs": [row[3]], "clientURLs": [row[4]]} for row in rows
            ]
            header = {"cluster_id": self.member() >> 1, "member_id": self.member(), "raft_term": 2}
            return Outcome(json.dumps({"header": header, "members": listed}, separators=(",", ":")) + "\n")
        return Outcome("".join(", ".join(row) + "\n" for row in rows))

    def get(self, asked: Asked, rest: list[str]) -> Outcome:
        """get KEY [END]."""
        if not rest:
            return Outcome("", f"Error: get{_NEEDS}", 1)
        limit = asked.values.get("--limit", "0")
        if not limit.isdigit():
            return Outcome("", f'Error: invalid argument "{limit}" for "--limit" flag: strconv.ParseInt: parsing '
                           f'"{limit}": invalid syntax\n', 1)  # fmt: skip
        found = self._selected(asked, rest)
        count = len(found)
        if asked.values.get("--order", "").upper().startswith("DESC"):
            found = dict(reversed(found.items()))
        if int(limit):
            found = dict(list(found.items())[: int(limit)])
        form = asked.values.get("--write-out", "simple")
        if form == "json":
            return Outcome(self._json(asked, found, count))
        if "--count-only" in asked.switches:
            return Outcome(f'"Count" : {count}\n' if form == "fields" else "")
        if "--keys-only" in asked.switches:
            return Outcome("".join(f"{key}\n\n" for key in found))
        if "--print-value-only" in asked.switches:
            return Outcome("".join(f"{self.value(where)}\n" for where in found.values()))
        return Outcome("".join(f"{key}\n{self.value(where)}\n" for key, where in found.items()))

    def _selected(self, asked: Asked, rest: list[str]) -> dict[str, tuple[str, str, str]]:
        start, keys = rest[0], self.keys()
        if "--prefix" in asked.switches:
            return {key: where for key, where in keys.items() if key.startswith(start)}
        if "--from-key" in asked.switches:
            return {key: where for key, where in keys.items() if key >= start}
        if len(rest) > 1:
            return {key: where for key, where in keys.items() if start <= key < rest[1]}
        return {start: keys[start]} if start in keys else {}

    def _json(self, asked: Asked, found: dict[str, tuple[str, str, str]], count: int) -> str:
        values = []
        for key, where in found.items() if "--count-only" not in asked.switches else ():
            obj = self.store.get(*where)
            version = int(obj["metadata"]["resourceVersion"]) if obj is not None else 0
            entry: dict[str, Any] = {"key": b64encode(key.encode()).decode(), "mod_revision": version}
            if "--keys-only" not in asked.switches:
                entry["value"] = b64encode(self.value(where).encode()).decode()
            values.append(entry)
        header = {"cluster_id": self.member() >> 1, "member_id": self.member(), "revision": self.store.version,
                  "raft_term": 2}  # fmt: skip
        body: dict[str, Any] = {"header": header}
        if values:
            body["kvs"] = values
        if count:
            body["count"] = count
        return json.dumps(body, separators=(",", ":")) + "\n"

    def remove(self, asked: Asked, rest: list[str]) -> Outcome:
        """del KEY: behind the API server's back, whose watches hear of it."""
        if not rest:
            return Outcome("", f"Error: del{_NEEDS}", 1)
        found = self._selected(asked, rest)
        for where in found.values():
            self.store.remove(*where)
        return Outcome(f"{len(found)}\n")

    def put(self, asked: Asked, rest: list[str]) -> Outcome:
        """put KEY VALUE: refused, as nothing here can read what people write there."""
        if len(rest) < 2:
            return Outcome("", "Error: put command needs 1 argument and input from stdin or 2 arguments\n", 1)
        return Outcome("", "Error: etcdserver: not capable\n", 1)

    def alarms(self, asked: Asked, rest: list[str]) -> Outcome:
        """alarm list, alarm disarm: there are none."""
        return Outcome()

    def hash_of(self) -> int:
        """Of the contents."""
        return mix(self.member(), self.store.version) % (1 << 32)

    def save(self, asked: Asked, rest: list[str]) -> Outcome:
        """snapshot save FILE."""
        if len(rest) != 1:
            return Outcome("", "Error: snapshot save expects one argument\n", 1)
        size, keys = self.size(), len(self.keys())
        facts = {"hash": self.hash_of(), "revision": self.store.version, "totalKey": keys, "totalSize": size}
        tree = NodeTree(self.machine)
        try:
            tree.write(rest[0], _SNAPSHOT + json.dumps(facts))
        except FileError as error:
            return Outcome("", f"Error: could not open {rest[0]}.part ({str(error).lower()})\n", 1)
        now = format_rfc3339(self.machine.os.clock.now_ns(), digits=6)
        lines = []
        for caller, message, more in (
            ("snapshot/v3_snapshot.go:65", "created temporary db file", {"path": f"{rest[0]}.part"}),
            ("snapshot/v3_snapshot.go:73", "fetching snapshot", {"endpoint": self.endpoints(asked)[0]}),
            ("snapshot/v3_snapshot.go:88", "fetched snapshot", {"endpoint": self.endpoints(asked)[0],
                                                               "size": _megabytes(size), "took": "now"}),
            ("snapshot/v3_snapshot.go:97", "saved", {"path": rest[0]}),
        ):  # fmt: skip
            line = {"level": "info", "ts": now, "caller": caller, "msg": message, **more}
            lines.append(json.dumps(line, separators=(",", ":")) + "\n")
        return Outcome(f"Snapshot saved at {rest[0]}\n", "".join(lines), 0, max(MILLISECOND, size * 10))

    def snapshot_status(self, asked: Asked, rest: list[str]) -> Outcome:
        """snapshot status FILE."""
        if len(rest) != 1:
            return Outcome("", "Error: snapshot status requires exactly one argument\n", 1)
        head = "Deprecated: Use `etcdutl snapshot status` instead.\n\n"
        try:
            text = self.read_file(rest[0])
        except FileError as error:
            return Outcome("", f"{head}Error: stat {rest[0]}: {str(error).lower()}\n", 1)
        if not text.startswith(_SNAPSHOT):
            return Outcome("", f"{head}Error: invalid database\n", 1)
        facts = json.loads(text[len(_SNAPSHOT) :])
        row = [f"{facts['hash']:x}", str(facts["revision"]), str(facts["totalKey"]), _megabytes(facts["totalSize"])]
        form = asked.values.get("--write-out", "simple")
        if form == "table":
            return Outcome(table(["HASH", "REVISION", "TOTAL KEYS", "TOTAL SIZE"], [row]), head)
        if form == "json":
            return Outcome(json.dumps(facts, separators=(",", ":")) + "\n", head)
        return Outcome(", ".join(row) + "\n", head)

    def restore(self, asked: Asked, rest: list[str]) -> Outcome:
        """snapshot restore: not modelled, and said so."""
        return Outcome("", "Error: etcdserver: not capable\n", 1)

    def version(self, asked: Asked, rest: list[str]) -> Outcome:
        """Its own version."""
        return Outcome(f"etcdctl version: {VERSION}\nAPI version: 3.5\n")


#: How a file of bbolt begins: the magic of its first page.
_SNAPSHOT = "\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\udced\x0c\udcda\udced"
_VERBS: dict[str, tuple[bool, Callable[[EtcdCtl, Asked, list[str]], Outcome]]] = {
    "version": (False, EtcdCtl.version),
    "endpoint health": (True, EtcdCtl.health),
    "endpoint status": (True, EtcdCtl.status),
    "member list": (True, EtcdCtl.member_list),
    "get": (True, EtcdCtl.get),
    "del": (True, EtcdCtl.remove),
    "put": (True, EtcdCtl.put),
    "alarm list": (True, EtcdCtl.alarms),
    "alarm disarm": (True, EtcdCtl.alarms),
    "snapshot save": (True, EtcdCtl.save),
    "snapshot status": (False, EtcdCtl.snapshot_status),
    "snapshot restore": (False, EtcdCtl.restore),
}


def place_of(resource: str) -> str:
    """Where a resource's objects lie below /registry.

    >>> place_of("nodes"), place_of("deployments.apps"), place_of("leases.coordination.k8s.io"), place_of("x.acme.com")
    ('minions', 'deployments', 'leases', 'acme.com/x')
    """
    if resource in _PLACES:
        return _PLACES[resource]
    plural, _, group = resource.partition(".")
    own = not group or group in _OWN_GROUPS or (group.endswith(".k8s.io") and group.count(".") == 2)
    return plural if own and group != "metrics.k8s.io" else f"{group}/{plural}"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table as olekukonko/tablewriter draws it: heads in the middle, numbers to the right."""
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]
    line = "+" + "+".join("-" * (width + 2) for width in widths) + "+\n"
    text = line + "|" + "|".join(f" {head:^{width}} " for head, width in zip(heads, widths, strict=True)) + "|\n" + line
    for row in rows:
        cells = []
        for cell, width in zip(row, widths, strict=True):
            right = cell.replace(".", "").isdigit() or cell in ("true", "false") or cell[-2:] in ("ms", "µs")
            cells.append(f" {cell:>{width}} " if right else f" {cell:<{width}} ")
        text += "|" + "|".join(cells) + "|\n"
    return text + line


def _megabytes(size: int) -> str:
    """go-humanize: two digits up to ten.

    >>> _megabytes(3_932_160), _megabytes(24_000), _megabytes(12_400_000)
    ('3.9 MB', '24 kB', '12 MB')
    """
    for unit, name in ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")):
        if size >= unit:
            tenths = (size * 10 + unit // 2) // unit
            return f"{tenths // 10}.{tenths % 10} {name}" if tenths < 100 else f"{(size + unit // 2) // unit} {name}"
    return f"{size} B"
