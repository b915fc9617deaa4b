"""`kubectl certificate approve|deny`: decides on a CertificateSigningRequest."""

from __future__ import annotations

from simcluster.api.objects import Json, thaw
from simcluster.engine import format_rfc3339
from simcluster.surface.kubectl.changing import Change
from simcluster.surface.kubectl.errors import plain
from simcluster.surface.kubectl.flags import FILES, OUTPUT, Arguments, switch
from simcluster.surface.kubectl.invocation import Invocation
from simcluster.surface.kubectl.selection import Target, fetch

FLAGS = (*FILES, *OUTPUT, switch("force"))
_RESOURCE = "certificatesigningrequests.certificates.k8s.io"


def approve(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl certificate approve`."""
    _decide(invocation, arguments, "Approved", "approved")


def deny(invocation: Invocation, arguments: Arguments) -> None:
    """`kubectl certificate deny`."""
    _decide(invocation, arguments, "Denied", "denied")


def _decide(invocation: Invocation, arguments: Arguments, kind: str, done: str) -> None:
    words = arguments.positional
    if not words and not arguments.texts("filename"):
        raise plain("one or more CSRs must be specified as <name> or -f <filename>")
    named = words if any("/" in word for word in words) else ["certificatesigningrequests", *words]
    targets, failures = fetch(invocation, arguments, named if words else [])
    change = Change(invocation, arguments)
    if not targets:
        failures.raise_all()
        raise plain("No resources found")
    for target in targets:
        failures.attempt(_Decision(change, target, kind, done).run)
    failures.raise_all()


class _Decision:
    """The decision about one request."""

    def __init__(self, change: Change, target: Target, kind: str, done: str) -> None:
        self.change = change
        self.target = target
        self.kind = kind
        self.done = done

    def run(self) -> None:
        target, invocation = self.target, self.change.invocation
        if target.resource.name != _RESOURCE:
            raise plain("can only handle certificates.k8s.io/v1 certificate signing requests")
        obj: Json = thaw(target.obj)
        verb = "approve" if self.kind == "Approved" else "deny"
        conditions = obj.setdefault("status", {}).setdefault("conditions", [])
        other = "Denied" if self.kind == "Approved" else "Approved"
        if any(entry["type"] == other for entry in conditions) and not self.change.arguments.on("force"):
            raise plain(f"certificate signing request {target.name!r} is already {other}".replace("'", '"'))
        if not any(entry["type"] == self.kind for entry in conditions):
            conditions.append(
                {
                    "lastUpdateTime": format_rfc3339(invocation.clock.now),
                    "message": f"This CSR was {self.done} by kubectl certificate {verb}.",
                    "reason": f"Kubectl{verb.capitalize()}",
                    "status": "True",
                    "type": self.kind,
                }
            )
            obj = invocation.ask("PUT", f"{target.path}/approval", body=obj).body
        self.change.report(target.resource, obj, self.done)
