"""What the operator itself refuses of a TidbCluster (FailedValidation).

Source: tidb-operator v1.6, pkg/apis/pingcap/v1alpha1/validation. Left out: checks of parts
that are left out elsewhere (TiFlash, TiCDC, additional containers and volumes).
"""

from __future__ import annotations

import re

from simcluster.apps.tidb.operator.cluster import Cluster

_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_ENV_RULE = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not "
    "start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is "
    "'[-._a-zA-Z][-._a-zA-Z0-9]*')"
)


def problems(cluster: Cluster) -> list[str]:
    """Everything that is wrong, each as a field error."""
    found = []
    for kind in ("pd", "tikv", "tidb"):
        spec = cluster.component(kind)
        if spec is None:
            continue
        for index, entry in enumerate(spec.get("env") or ()):
            name = entry.get("name", "")
            if not name:
                found.append(f"spec.{kind}.env[{index}].name: Required value")
            elif not _ENV_NAME.fullmatch(name):
                found.append(f'spec.{kind}.env[{index}].name: Invalid value: "{name}": {_ENV_RULE}')
        if kind != "tidb" and "storage" not in (spec.get("requests") or {}):
            where = f"spec.{kind}.requests.storage[storage]"
            found.append(f"{where}: Required value: storage request must not be empty")
    return found


def aggregate(messages: list[str]) -> str:
    """Several errors as Go's aggregate prints them."""
    return messages[0] if len(messages) == 1 else "[" + ", ".join(messages) + "]"
