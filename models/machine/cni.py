"""The node's CNI configuration: whether containerd has a network plugin, and from where pods get addresses.

containerd reads the first `*.conf`, `*.conflist` or `*.json` of its folder, in the order of their names,
whenever a file there changes. Without one that it can read no pod gets a network any more; pods that
have one keep it. Source: containerd 1.7 (pkg/cri/server, go-cni), the host-local plugin.
Left out: several ranges, gateways and routes, binaries that are missing.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from typing import Any

from simcluster.models.machine.hostfiles import HostFiles

FOLDER = "/etc/cni/net.d"
NOT_INITIALIZED = "cni plugin not initialized"
_USUAL_LENGTH = 24
_ENDINGS = (".conf", ".conflist", ".json")
_KINDNET = """{{
\t"cniVersion": "0.3.1",
\t"name": "kindnet",
\t"plugins": [
\t{{
\t\t"type": "ptp",
\t\t"ipMasq": false,
\t\t"ipam": {{
\t\t\t"type": "host-local",
\t\t\t"dataDir": "/run/cni-ipam-state",
\t\t\t"routes": [{{"dst": "0.0.0.0/0"}}],
\t\t\t"ranges": [[{{"subnet": "{subnet}"}}]]
\t\t}},
\t\t"mtu": 1500
\t}},
\t{{
\t\t"type": "portmap",
\t\t"capabilities": {{"portMappings": true}}
\t}}
\t]
}}
"""


class AddressRange:
    """Where a host-local plugin takes addresses from: all of an IPv4 network but its first and its last."""

    def __init__(self, subnet: str) -> None:
        network = ipaddress.IPv4Network(subnet, strict=False)
        self._base = int(network.network_address)
        # Of the usual size the last number is written at once.
        self._prefix = str(network.network_address).rpartition(".")[0] if network.prefixlen == _USUAL_LENGTH else ""
        self.size = max(0, network.num_addresses - 2)

    def address(self, number: int) -> str:
        """The `number`-th address, from 1 to `size`."""
        return f"{self._prefix}.{number}" if self._prefix else str(ipaddress.IPv4Address(self._base + number))

    def __str__(self) -> str:
        return f"{self.address(1)}-{self.address(self.size)}"


class CniConfig:
    """What containerd has read of the folder last.

    Args:
        files: of the node.
        subnet: the node's range of pod addresses.

    Attributes:
        ready: whether there is a configuration that it can use.
        range: from where pods get addresses.
    """

    def __init__(self, files: HostFiles, subnet: str) -> None:
        self.ready = True
        self.range = AddressRange(subnet)
        self._files = files
        files.write(f"{FOLDER}/10-kindnet.conflist", _KINDNET.format(subnet=subnet))
        files.watch(FOLDER, self._changed)

    def _changed(self, path: str) -> None:
        names = [name for name in sorted(self._files.entries(FOLDER)) if name.endswith(_ENDINGS)]
        self.ready = False
        if names:
            try:
                found = _subnet(json.loads(self._files.read(f"{FOLDER}/{names[0]}")))
                self.range = AddressRange(found) if found else self.range
            except (ValueError, TypeError, AttributeError, LookupError):
                return
            self.ready = True


def _subnet(configuration: Mapping[str, Any]) -> str:
    """The subnet that the first plugin hands out. Raises ValueError when the configuration is none."""
    plugins = configuration.get("plugins") or [configuration]
    if not plugins[0].get("type"):
        raise ValueError("a plugin without a type")
    for plugin in plugins:
        ipam = plugin.get("ipam") or {}
        for entries in ipam.get("ranges") or ():
            return str(entries[0]["subnet"])
        if ipam.get("subnet"):
            return str(ipam["subnet"])
    return ""
