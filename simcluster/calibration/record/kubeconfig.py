"""Reads a kubeconfig: where the API server is, whom to trust, and as whom to ask.

Clusters, users and contexts as client-go reads them: certificates and tokens in the file or beside it, basic
authentication, and `exec` plug-ins (their token is asked for once). Left out: auth providers, proxies, impersonation.
"""

from __future__ import annotations

import base64
import binascii
import json
import ssl
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class NoAccess(Exception):
    """The kubeconfig does not say how to reach a cluster, or a source cannot be reached."""

    exit_code = 2


@dataclass(frozen=True)
class Access:
    """How to ask an API server.

    Attributes:
        server: its address.
        context: certificates, of an `https` address.
        headers: what every request carries.
    """

    server: str
    context: ssl.SSLContext | bool
    headers: dict[str, str]


def read_kubeconfig(path: Path, context: str = "") -> Access:
    """What the file's current context, or another, says.

    Raises:
        NoAccess: the file cannot be read, names no such context, or lacks what is needed.
    """
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as problem:
        raise NoAccess(f"{path}: {problem}") from None
    if not isinstance(config, dict):
        raise NoAccess(f"{path}: not a kubeconfig")
    wanted = context or config.get("current-context") or ""
    chosen = _entry(config, "contexts", "context", wanted, path)
    cluster = _entry(config, "clusters", "cluster", chosen.get("cluster", ""), path)
    user = _entry(config, "users", "user", chosen["user"], path) if chosen.get("user") else {}
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith(("http://", "https://")):
        raise NoAccess(f"{path}: cluster {chosen.get('cluster')!r} names no server")
    trusted: ssl.SSLContext | bool = False
    if server.startswith("https://"):
        trusted = _context(cluster, user, path)
    return Access(server.rstrip("/"), trusted, _headers(user, path))


def _entry(config: dict[str, Any], part: str, kind: str, name: str, path: Path) -> dict[str, Any]:
    for entry in config.get(part) or ():
        if entry.get("name") == name and isinstance(entry.get(kind), dict):
            found: dict[str, Any] = entry[kind]
            return found
    raise NoAccess(f"{path}: there is no {kind} {name!r}")


def _context(cluster: dict[str, Any], user: dict[str, Any], path: Path) -> ssl.SSLContext:
    try:
        authority = _material(cluster, "certificate-authority", path)
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if cluster.get("insecure-skip-tls-verify"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        certificate, key = _material(user, "client-certificate", path), _material(user, "client-key", path)
        if certificate and key:
            with tempfile.TemporaryDirectory() as folder:  # the ssl module reads files alone
                pair = Path(folder) / "pair.pem"
                pair.touch(mode=0o600)
                pair.write_bytes(certificate + b"\n" + key)
                context.load_cert_chain(pair)
    except (OSError, ssl.SSLError, UnicodeDecodeError, binascii.Error) as problem:
        raise NoAccess(f"{path}: {problem}") from None
    return context


def _material(part: dict[str, Any], name: str, path: Path) -> bytes:
    inline = part.get(f"{name}-data")
    if inline:
        return base64.b64decode(inline, validate=True)
    return (path.parent / part[name]).read_bytes() if part.get(name) else b""


def _headers(user: dict[str, Any], path: Path) -> dict[str, str]:
    token = user.get("token") or ""
    if not token and user.get("tokenFile"):
        token = (path.parent / user["tokenFile"]).read_text().strip()
    if not token and user.get("exec"):
        token = _executed(user["exec"], path)
    if token:
        return {"Authorization": f"Bearer {token}"}
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password', '')}".encode()
        return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
    return {}


def _executed(plugin: dict[str, Any], path: Path) -> str:
    """The token that an exec plug-in prints as an ExecCredential."""
    command = [plugin.get("command", ""), *(plugin.get("args") or ())]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        return str(json.loads(printed)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as problem:
        raise NoAccess(f"{path}: the credential plug-in {command[0]!r} gave no token: {problem}") from None
