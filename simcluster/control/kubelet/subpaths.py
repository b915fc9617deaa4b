"""Sub-paths of volume mounts that are made of environment variables, and those that are refused.

Source: pkg/kubelet/container/helpers.go (ExpandContainerVolumeMounts), kubelet_pods.go (makeMounts).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from simcluster.api.objects import Json
from simcluster.control.kubelet.environment import ConfigError, expand

_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")


def with_sub_paths(container: Json, environment: Mapping[str, str]) -> Json:
    """The container with every `subPathExpr` as a `subPath`.

    Raises:
        ConfigError: a variable is missing or empty, or the path leaves its volume.
    """
    mounts = container.get("volumeMounts") or ()
    if not any(mount.get("subPath") or mount.get("subPathExpr") for mount in mounts):
        return container
    return {**container, "volumeMounts": [_checked(mount, environment) for mount in mounts]}


def _checked(mount: Json, environment: Mapping[str, str]) -> Json:
    path = mount.get("subPath") or ""
    expression = mount.get("subPathExpr")
    if expression:
        names = [match[1] for match in _REFERENCE.finditer(expression) if match[0] != "$$"]
        missing = sorted({name for name in names if not environment.get(name)})
        if missing:
            raise ConfigError(f"missing value for {', '.join(missing)}")
        path = expand(expression, environment)
    if path.startswith("/"):
        raise ConfigError(f"error SubPath `{path}` must not be an absolute path")
    if ".." in path.split("/"):
        raise ConfigError(f"unable to provision SubPath `{path}`: must not contain '..'")
    return {**mount, "subPath": path} if path else mount
