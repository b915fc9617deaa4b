"""What a pod's `imagePullSecrets` give: user and password by registry host.

Read are Secrets of the type `kubernetes.io/dockerconfigjson`, whose `auths` are hosts with `auth`, or `username` and
`password`. Left out: the older `kubernetes.io/dockercfg`, paths below a host, credential providers.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import namespace_of
from simcluster.api.store import Store

_KEY = ".dockerconfigjson"
#: Docker Hub by the names that clients give it.
_HUB = {"index.docker.io": "docker.io", "registry-1.docker.io": "docker.io"}


def is_private(pod: Any) -> bool:
    """Whether the pod's manifest says that its images need credentials."""
    return bool(pod["spec"].get("imagePullSecrets"))


def pull_keys(store: Store, pod: Any) -> tuple[dict[str, str], list[str]]:
    """`user:password` by host, and the names of the Secrets that are not there."""
    keys: dict[str, str] = {}
    missing: list[str] = []
    for one in pod["spec"].get("imagePullSecrets") or ():
        secret = store.get("secrets", namespace_of(pod), one.get("name") or "")
        if secret is None:
            missing.append(one.get("name") or "")
        else:
            keys |= keys_of(secret)
    return keys, missing


def keys_of(secret: Any) -> dict[str, str]:
    """What a Secret gives; nothing of one that is none of a registry."""
    data = (secret.get("data") or {}).get(_KEY)
    if secret.get("type") != "kubernetes.io/dockerconfigjson" or not data:
        return {}
    try:
        auths = json.loads(base64.b64decode(data)).get("auths") or {}
    except (ValueError, AttributeError):
        return {}
    found = {}
    for url, auth in auths.items() if isinstance(auths, Mapping) else ():
        if not isinstance(auth, Mapping):
            continue
        host = url.partition("://")[2].partition("/")[0] if "://" in url else url.partition("/")[0]
        found[_HUB.get(host, host)] = _pair(auth)
    return found


def _pair(auth: Mapping[str, Any]) -> str:
    if auth.get("auth"):
        try:
            return base64.b64decode(str(auth["auth"])).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return f"{auth.get('username', '')}:{auth.get('password', '')}"
