"""`kubeadm` 1.32 on a node: its version, dates of certificates, images, tokens; what it would not do here it refuses.

Certificates are the files in /etc/kubernetes/pki and those that kubeconfigs hold. Left out: making, joining and taking
down clusters (their preflight checks fail, as they would on nodes that are part of one), upgrades.
"""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING

from simcluster.engine import format_rfc3339
from simcluster.engine.clock import DAY, month_name
from simcluster.models.machine.certificate import blocks, read
from simcluster.models.machine.machine import Machine
from simcluster.models.userland.outcome import Outcome
from simcluster.world.hostsetup import CERTIFICATES, CONFIGS, renew

if TYPE_CHECKING:
    from simcluster.world.clusterview import ClusterView

VERSION = "v1.32.13"
_BUILT = (("major", "1"), ("minor", "32"), ("gitVersion", VERSION),
          ("gitCommit", "05dde8e3bd2ddb0e3b2a7bb1dd1e1a6bb2f3d2c4"),
          ("gitTreeState", "clean"), ("buildDate", "2026-02-10T15:31:02Z"),
          ("goVersion", "go1.23.6"), ("compiler", "gc"), ("platform", "linux/amd64"))  # fmt: skip
_IMAGES = (
    *(f"registry.k8s.io/{name}:{VERSION}" for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler",
                                                        "kube-proxy")),
    "registry.k8s.io/coredns/coredns:v1.11.3", "registry.k8s.io/pause:3.10", "registry.k8s.io/etcd:3.5.16-0",
)  # fmt: skip
_HINT = "To see the stack trace of this error execute with --v=5 or higher\n"


def run(world: ClusterView, machine: Machine, args: list[str]) -> Outcome:
    """Run `kubeadm ARGS`."""
    words = [word for word in args if not word.startswith("-")]
    flags = [word for word in args if word.startswith("-")]
    verb = " ".join(words[:2])
    if words[:1] == ["version"]:
        return _version(flags, words[1:])
    if verb == "certs check-expiration":
        return _expiration(world, machine)
    if verb == "certs renew":
        return _renew(machine, words[2:])
    if verb == "config images":
        return Outcome("".join(f"{image}\n" for image in _IMAGES)) if words[2:3] == ["list"] else _unknown(words)
    if words[:1] == ["token"]:
        return _tokens(world, machine, words[1:])
    if words[:1] in (["init"], ["join"]):
        return _preflight(machine, words[0])
    if words[:1] in (["reset"], ["upgrade"]):
        return Outcome("", f'error: "{words[0]}" needs a terminal to confirm it\n{_HINT}', 1)
    return _unknown(words)


def _unknown(words: list[str]) -> Outcome:
    if not words:
        return Outcome("\n\n    ┌──────────────────────────────────────────────────────────┐\n"
                       "    │ KUBEADM                                                  │\n"
                       "    │ Easily bootstrap a secure Kubernetes cluster             │\n"
                       "    └──────────────────────────────────────────────────────────┘\n\n")  # fmt: skip
    return Outcome("", f'error: unknown command "{words[0]}" for "kubeadm"\n{_HINT}', 1)


def _version(flags: list[str], rest: list[str]) -> Outcome:
    form = next((flag.partition("=")[2] for flag in flags if flag.startswith(("-o=", "--output="))), "")
    form = form or (rest[0] if rest and any(flag in ("-o", "--output") for flag in flags) else "")
    if form == "short":
        return Outcome(f"{VERSION}\n")
    if form in ("json", "yaml"):
        if form == "json":
            return Outcome(json.dumps({"clientVersion": dict(_BUILT)}, indent=2) + "\n")
        shown = ((key, f'"{value}"' if value.isdigit() else value) for key, value in sorted(_BUILT))
        return Outcome("clientVersion:\n" + "".join(f"  {key}: {value}\n" for key, value in shown))
    if form:
        return Outcome("", f"invalid output format: {form}\n{_HINT}", 1)
    names = {"major": "Major", "minor": "Minor", "gitVersion": "GitVersion", "gitCommit": "GitCommit", "gitTreeState":
             "GitTreeState", "buildDate": "BuildDate", "goVersion": "GoVersion", "compiler": "Compiler", "platform":
             "Platform"}  # fmt: skip
    inner = ", ".join(f'{names[key]}:"{value}"' for key, value in _BUILT)
    return Outcome(f"kubeadm version: &version.Info{{{inner}}}\n")


def _certificate(machine: Machine, path: str, *, inner: bool = False) -> tuple[int, str] | None:
    """When the certificate at a path (or in a kubeconfig) ends, and who signed it."""
    found = machine.files.find(path)
    if found is None:
        return None
    text = found.text
    if inner:
        given = text.partition("client-certificate-data: ")[2].split("\n")[0]
        text = b64decode(given).decode() if given else ""
    leaf = read(blocks(text)[0]) if blocks(text) else None
    return None if leaf is None else (leaf.not_after_ns, leaf.issuer)


def _expiration(world: ClusterView, machine: Machine) -> Outcome:
    if machine.files.find("/etc/kubernetes/admin.conf") is None:
        why = "open /etc/kubernetes/pki/apiserver.crt: no such file or directory"
        return Outcome("", f"error: failed to load existing certificate apiserver: {why}\n{_HINT}", 1)
    there = world.api.available and world.api.store.get("configmaps", "kube-system", "kubeadm-config") is not None
    head = '[check-expiration] Reading configuration from the "kubeadm-config" ConfigMap in namespace'
    head += ' "kube-system"...\n'
    mark = "[check-expiration]"
    head += (
        f"{mark} Use 'kubeadm init phase upload-config --config your-config-file' to re-upload it.\n\n"
        if there
        else f"{mark} Error reading configuration from the Cluster. Falling back to default configuration\n\n"
    )
    now = machine.os.clock.now_ns()
    rows = [["CERTIFICATE", "EXPIRES", "RESIDUAL TIME", "CERTIFICATE AUTHORITY", "EXTERNALLY MANAGED"]]
    own = [(f"{name}.conf", f"/etc/kubernetes/{name}.conf", "ca", True) for name in CONFIGS]
    own += [
        (name.replace("/", "-"), f"/etc/kubernetes/pki/{name}.crt", by.replace("/", "-"), False)
        for name, by in CERTIFICATES.items()
        if by
    ]
    for name, path, by, inner in sorted(own):
        found = _certificate(machine, path, inner=inner)
        rows.append(
            [name, *_dates(found, now), by, "no"] if found is not None else [f"!MISSING! {name}", "", "", "", ""]
        )
    authorities = [["CERTIFICATE AUTHORITY", "EXPIRES", "RESIDUAL TIME", "EXTERNALLY MANAGED"]]
    for name, by in CERTIFICATES.items():
        if not by:
            found = _certificate(machine, f"/etc/kubernetes/pki/{name}.crt")
            shown = name.replace("/", "-")
            missing = [f"!MISSING! {shown}", "", "", ""]
            authorities.append([shown, *_dates(found, now), "no"] if found is not None else missing)
    return Outcome(f"{head}{_table(rows)}\n{_table(authorities)}")


def _dates(found: tuple[int, str], now_ns: int) -> tuple[str, str]:
    ends = found[0]
    text, left = format_rfc3339(ends), (ends - now_ns) // DAY
    residual = "<invalid>" if ends < now_ns else f"{left // 365}y" if left >= 730 else f"{left}d" if left else (
        f"{(ends - now_ns) // (DAY // 24)}h"
    )  # fmt: skip
    return f"{month_name(int(text[5:7]))} {text[8:10]}, {text[:4]} {text[11:16]} UTC", residual


def _table(rows: list[list[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ("   ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _renew(machine: Machine, words: list[str]) -> Outcome:
    if machine.files.find("/etc/kubernetes/pki/ca.crt") is None:
        return Outcome(
            "", f"error: failed to load CA certificate: open /etc/kubernetes/pki/ca.crt: no such file\n{_HINT}", 1
        )
    known = {**{name.replace("/", "-"): name for name, by in CERTIFICATES.items() if by},
             **{f"{name}.conf": name for name in CONFIGS}}  # fmt: skip
    wanted = list(known) if words[:1] == ["all"] else words[:1]
    if not wanted:
        return Outcome("This command is not meant to be run on its own. See list of available subcommands.\n")
    if wanted[0] not in known:
        return Outcome("", f'error: unknown command "{wanted[0]}" for "kubeadm certs renew"\n{_HINT}', 1)
    out = ""
    for name in wanted:
        renew(machine, known[name], conf=name.endswith(".conf"))
        what = f"certificate embedded in the kubeconfig file for {name}" if name.endswith(".conf") else (
            f"certificate for {name}"
        )  # fmt: skip
        out += f"{what} renewed\n"
    done = "\nDone renewing certificates. You must restart the kube-apiserver, kube-controller-manager, "
    done += "kube-scheduler and "
    return Outcome(out + (f"{done}etcd, so that they can use the new certificates.\n" if words[0] == "all" else ""))


def _tokens(world: ClusterView, machine: Machine, words: list[str]) -> Outcome:
    if machine.files.find("/etc/kubernetes/admin.conf") is None:
        why = "failed to load admin kubeconfig: open /etc/kubernetes/admin.conf: no such file or directory"
        return Outcome("", f"{why}\n{_HINT}", 1)
    if words[:1] != ["list"]:
        return Outcome("", f'error: "token {words[0] if words else ""}" is not available here\n{_HINT}', 1)
    rows = []
    for secret in world.api.store.objects("secrets", "kube-system"):
        if secret.get("type") == "bootstrap.kubernetes.io/token":
            data = {key: b64decode(value).decode() for key, value in (secret.get("data") or {}).items()}
            token = f"{data.get('token-id', '')}.{data.get('token-secret', '')}"
            rows.append([token, "<forever>", data.get("expiration") or "<never>", "authentication,signing",
                         data.get("description") or "<none>", data.get("auth-extra-groups") or "<none>"])  # fmt: skip
    heads = ["TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS"]
    return Outcome(_table([heads, *rows]) if rows else "")


def _preflight(machine: Machine, verb: str) -> Outcome:
    """A node of a cluster has what a new one must not have."""
    errors = []
    ports = (6443, 10259, 10257, 10250, 2379, 2380) if verb == "init" else (10250,)
    errors += [f"Port-{port}]: Port {port} is in use" for port in ports if machine.listens_on(port)]
    paths = [f"/etc/kubernetes/manifests/{name}.yaml" for name in
             ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")]  # fmt: skip
    names = paths if verb == "init" else ["/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt"]
    errors += [
        f"FileAvailable-{path.strip('/').replace('/', '-')}]: {path} already exists"
        for path in names
        if machine.files.find(path) is not None
    ]
    head = f"[{verb}] Using Kubernetes version: {VERSION}\n" if verb == "init" else ""
    if not errors:
        return Outcome(f"{head}[preflight] Running pre-flight checks\n", f"error execution phase preflight\n{_HINT}", 1)
    text = "error execution phase preflight: [preflight] Some fatal errors occurred:\n"
    text += "".join(f"\t[ERROR {error}\n" for error in errors)
    text += "[preflight] If you know what you are doing, you can make a check non-fatal with "
    return Outcome(
        f"{head}[preflight] Running pre-flight checks\n", f"{text}`--ignore-preflight-errors=...`\n{_HINT}", 1
    )
