"""memcached: values in memory up to `-m` megabytes (64), the least recently used go. Nothing survives.

Left out: slab classes, expiry.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from simcluster.models.apps.stores.caches.keyspace import Keyspace
from simcluster.models.apps.stores.program import StoreProgram
from simcluster.models.apps.stores.settings import number_of, options_of
from simcluster.models.machine.process import Answer, Call
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.cluster.server import Server

#: Defaults of memcached 1.6: `-m 64`, `-c 1024`.
MEMORY_MB, CONNECTIONS = 64, 1024
#: What a tag without a full version stands for (hub.docker.com/_/memcached, 2025).
NEWEST = "1.6.39"


class MemcachedProgram(StoreProgram):
    """The main process of a memcached image.

    Attributes:
        lacking: by owner, the share of an owner's keys that were not stored since the start.
        version: as it reports itself.
    """

    keyspace: Keyspace
    lacking: dict[str, float]
    most_connections = CONNECTIONS
    version = NEWEST

    def configure(self) -> bool:
        """`-m` megabytes, `-c` connections, `-p` port."""
        spec = self.container.spec
        tag = spec.image.partition("@")[0].rpartition(":")[2].partition("-")[0]
        self.version = tag if tag.count(".") == 2 and tag.replace(".", "").isdigit() else NEWEST
        options = options_of(tuple(w for w in (*spec.command, *spec.args) if w != "memcached"), ("v", "vv", "U"))
        self.keyspace, self.lacking = Keyspace(self.behaviour.data), {}
        megabytes = options.get("m") or options.get("memory-limit") or self.environment.get("MEMCACHED_CACHE_SIZE", "")
        self.keyspace.limit = number_of(megabytes, MEMORY_MB) << 20
        self.keyspace.evicts = True
        self.most_connections = number_of(options.get("conn-limit", ""), CONNECTIONS)
        if options.get("p", "").isdigit():
            self._ports = {int(options["p"]): None}
        return True

    def work(self, tick_ns: int, counts: Sequence[int]) -> None:
        """Values come and go."""
        if any(counts):
            models, lacking = self.io_models(), self.lacking.values()
            held = 1.0 - math.fsum(lacking) / len(lacking) if lacking else -1.0
            for index, count in enumerate(counts):
                if count and held >= 0.0:
                    self.keyspace.aside(models[index], count, held)
                elif count:
                    self.keyspace.apply(models[index], count)
        memory = self.behaviour.memory + int(self.keyspace.bytes) // (1 << 20) * (1 << 20)
        if self.server is not None and memory != self.server.spec.memory_base:
            self.rebase(memory)

    def admit(self, user: str, password: str, database: str, call: CallSpec, caller: Server) -> str:
        """Only connections are limited."""
        return "" if self.seated(caller, self.most_connections) else "SERVER_ERROR Too many open connections"

    def answer(self, call: Call) -> Answer:
        """`stats` and `version`, as `nc` would ask."""
        found = super().answer(call)
        if found.outcome == "ok" and call.path.strip("/") == "stats":
            return found._replace(body=self.stats())
        return found

    def stats(self) -> str:
        """The general statistics."""
        keys = self.keyspace
        pairs = {
            "pid": 1,
            "uptime": self.uptime_s(),
            "version": self.version,
            "curr_connections": self.open_connections(),
            "cmd_get": int(keys.hits + keys.misses),
            "cmd_set": int(keys.written),
            "get_hits": int(keys.hits),
            "get_misses": int(keys.misses),
            "bytes": int(keys.bytes),
            "curr_items": keys.keys(),
            "evictions": int(keys.evicted),
            "limit_maxbytes": keys.limit,
        }
        return "".join(f"STAT {name} {value}\r\n" for name, value in pairs.items()) + "END\r\n"
