"""Start scripts that the operator puts into ConfigMaps, and the configuration files beside them.

They do what those of TiDB Operator do (find PD, start the server with its addresses), in our
own words and without the wait for DNS records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HEAD = "#!/bin/sh\nset -eu\n"
_SCRIPTS = {
    "pd": """POD_NAME=${POD_NAME:-$HOSTNAME}
domain="${POD_NAME}.${PEER_SERVICE_NAME}.${NAMESPACE}.svc"
echo "starting pd-server ..."
exec /pd-server --data-dir=/var/lib/pd --name="${POD_NAME}" \
 --peer-urls=http://0.0.0.0:2380 --advertise-peer-urls="http://${domain}:2380" \
 --client-urls=http://0.0.0.0:2379 --advertise-client-urls="http://${domain}:2379" --config=/etc/pd/pd.toml
""",
    "tikv": """POD_NAME=${POD_NAME:-$HOSTNAME}
echo "starting tikv-server ..."
exec /tikv-server --pd="http://${CLUSTER_NAME}-pd:2379" \
 --advertise-addr="${POD_NAME}.${HEADLESS_SERVICE_NAME}.${NAMESPACE}.svc:20160" --addr=0.0.0.0:20160 \
 --status-addr=0.0.0.0:20180 --data-dir=/var/lib/tikv --config=/etc/tikv/tikv.toml
""",
    "tidb": """POD_NAME=${POD_NAME:-$HOSTNAME}
echo "start tidb-server ..."
exec /tidb-server --store=tikv --advertise-address="${POD_NAME}.${HEADLESS_SERVICE_NAME}.${NAMESPACE}.svc" \
 --host=0.0.0.0 --path="${CLUSTER_NAME}-pd:2379" --config=/etc/tidb/tidb.toml
""",
}


def start_script(kind: str) -> str:
    """The script that starts a component."""
    return _HEAD + _SCRIPTS[kind]


def toml(config: Any, prefix: str = "") -> str:
    """A configuration as TOML; a string is taken as it is.

    >>> print(toml({"log": {"level": "info"}, "a": 1}), end="")
    a = 1
    <BLANKLINE>
    [log]
    level = "info"
    """
    if isinstance(config, str):
        return config
    if not isinstance(config, Mapping):
        return ""
    lines = [f"{key} = {_value(value)}\n" for key, value in sorted(config.items()) if not isinstance(value, Mapping)]
    for key, value in sorted(config.items()):
        if isinstance(value, Mapping):
            name = f"{prefix}{key}"
            lines.append(f"\n[{name}]\n{toml(value, name + '.')}")
    return "".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return str(value) if isinstance(value, (int, float)) else '"' + str(value).replace('"', '\\"') + '"'
