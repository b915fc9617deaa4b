"""A client that opens connections and keeps them: an edge proxy's sessions, or a client that never closes one.

It spreads `CONNECTIONS` over the `PORTS` of the host `TARGET` and opens at most `PER_SECOND`; what a full connection
table drops it tries again. Each costs kernel memory and a descriptor here, a descriptor at the server, and an entry in
the table of each node that it passes. Left out: keep-alive packets, memory of the servers' sockets.
"""

from __future__ import annotations

from simcluster.engine import SECOND, Timer
from simcluster.models.apps.system.daemon import DaemonProgram
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.resolve import container_at

LOOK_NS = SECOND
#: Kernel memory of an idle TCP socket with its inode and file (slabs TCP, sock_inode_cache, filp, dentry; Linux 6.8).
SOCKET_BYTES = 3584
#: Attempts a second that go on while the table is full.
AGAIN_PER_S = 200
#: A line is printed when the number has changed by a tenth.
PRINTED_FROM = 0.1


class ConnectionHolder(DaemonProgram):
    """The main process of such a container.

    Attributes:
        established: connections that are open.
    """

    established = 0
    _holding: Timer | None = None
    _said = -1

    def stop(self) -> None:
        """The process is gone, and with it its connections."""
        if self._holding is not None:
            self._holding.cancel()
        self._spread({}, 0)
        super().stop()

    def _ready(self) -> None:
        super()._ready()
        self._holding = self.container.sim.every(LOOK_NS, self._look)

    def _number(self, name: str, default: int) -> int:
        text = self.environment.get(name, "")
        return int(text) if text.isdigit() else default

    def _look(self) -> None:
        """Open what is missing, as far as there are servers, ports, descriptors and room in the table."""
        kernel, ports = self.container.kernel, self._ports_asked()
        if kernel is None:
            return
        servers = self._servers(ports)
        wanted = self._number("CONNECTIONS", 100) if servers else 0
        wanted = min(wanted, len(ports) * kernel.port_count(self.container), kernel.descriptors.limit(self.container))
        tried = opened = min(wanted, self.established + self._number("PER_SECOND", 5000) * LOOK_NS // SECOND)
        table = kernel.conntrack
        if table.maximum and tried > self.established:
            opened = min(tried, self.established + max(0, table.maximum - table.count))
        self.established = opened
        self._spread(servers, tried - opened)
        if not self.container.running:  # its memory was too much
            return
        if abs(opened - self._said) > PRINTED_FROM * max(1, self._said) or (opened == wanted != self._said):
            self._said = opened
            self.container.write(f'level=info msg="connections" target={self.environment.get("TARGET", "")} '
                                 f"established={opened} wanted={wanted}")  # fmt: skip

    def _ports_asked(self) -> list[int]:
        first, _, last = self.environment.get("PORTS", "80").partition("-")
        return list(range(int(first), int(last or first) + 1))

    def _servers(self, ports: list[int]) -> dict[str, Container]:
        """Who listens behind the host, by container."""
        network, sandbox = self._traffic.network, self.container.sandbox
        address = network.resolve_for(sandbox, self.environment.get("TARGET", "")).address
        found: dict[str, Container] = {}
        for port in ports if address else ():
            for backend in network.route(sandbox.node, address, port, sandbox.address).backends:
                there = container_at(network, backend) if network.connect(backend, sandbox.address) == "ok" else None
                if there is not None and there.container_id in self._traffic.servers:
                    found[there.container_id] = there
        return found

    def _spread(self, servers: dict[str, Container], dropped: int) -> None:
        """Its connections, evenly over the servers; the kernels count them."""
        own, nearby = self.container.container_id, 0
        for server in self._traffic.servers.values():
            server.held.pop(own, None)
        each = self.established // len(servers) if servers else 0
        self.established = each * len(servers)
        for there in servers.values():
            self._traffic.servers[there.container_id].held[own] = each
            nearby += each if there.machine is self.container.machine else 0
        kernel = self.container.kernel
        if kernel is None:
            return
        kernel.descriptors.sockets(self.container, float(self.established), kernel.open_files())
        tries = float(min(dropped, AGAIN_PER_S)) if servers else 0.0
        kernel.passing(own, tries, float(self.established - nearby))  # those to its own node are entries of the server
        self.container.set_memory(self.behaviour.memory + self.established * SOCKET_BYTES)
