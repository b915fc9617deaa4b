"""The audit log: who asked the API server to change what, one JSON document a line.

Rules of a policy (`audit.k8s.io/v1`) are tried in order, the first that matches says at which level a request is noted;
without a match it is not. Reads are never noted, whatever a policy says, since reading changes nothing here. Levels
above Metadata are noted as that. Writes that components repeat by the thousand take a short way past this one
(`api/shortways`): a policy that wants them does not get them. Source: k8s.io/apiserver/pkg/audit, apis/audit/v1.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import yaml

from simcluster.api.request import Request
from simcluster.api.routing import Route
from simcluster.engine import MILLISECOND, format_rfc3339
from simcluster.engine.streams import mix
from simcluster.telemetry.logs import LazyLines, LogFile, LogLine, Reading

#: A line without what varies.
_FRAME_BYTES = 700
_CONDITIONS = ("users", "userGroups", "verbs", "namespaces")
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Rule(NamedTuple):
    """One rule: empty conditions match everything.

    Attributes:
        resources: groups and what of them is meant, as in `pods/status` (nothing: all of a group).
    """

    level: str
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    resources: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def matches(self, request: Request, verb: str, route: Route | None) -> bool:
        """Whether it is about a request."""
        user = request.user
        return (
            (not self.users or user.name in self.users)
            and (not self.groups or any(group in user.groups for group in self.groups))
            and (not self.verbs or verb in self.verbs)
            and (not self.namespaces or (route is not None and route.namespace in self.namespaces))
            and (not self.resources or (route is not None and any(_is_of(route, each) for each in self.resources)))
        )


def _is_of(route: Route, wanted: tuple[str, tuple[str, ...]]) -> bool:
    group, names = wanted
    plural, below = route.resource.plural, route.subresource
    whole = f"{plural}/{below}" if below else plural
    return group == route.resource.group and (
        not names or any(name in ("*", whole, f"{plural}/*", f"*/{below}") for name in names)
    )


@functools.lru_cache(maxsize=16)
def read_policy(text: str) -> tuple[Rule, ...]:
    """Rules of a policy file; none of what is no policy."""
    try:
        given = yaml.safe_load(text)
        return tuple(map(_rule, given["rules"])) if given["kind"] == "Policy" else ()
    except (yaml.YAMLError, TypeError, KeyError, AttributeError):
        return ()


def _rule(given: Mapping[str, Any]) -> Rule:
    users, groups, verbs, spaces = (tuple(given.get(key) or ()) for key in _CONDITIONS)
    listed = given.get("resources") or ()
    resources = tuple((each.get("group", ""), tuple(each.get("resources") or ())) for each in listed)
    return Rule(str(given["level"]), users, groups, verbs, spaces, resources)


class Clock(Protocol):
    """Who knows what time it is."""

    @property
    def now(self) -> int:
        """Simulated nanoseconds."""


class Audit:
    """Notes requests while a server process has an audit log.

    Attributes:
        log: the file, None of a server without.
        address: of whom it sees its clients come from.
    """

    def __init__(self) -> None:
        self.log: LogFile | None = None
        self.address = ""
        self._rules: tuple[Rule, ...] = ()
        self._clock: Clock | None = None
        self._noted = 0

    def open(self, log: LogFile, policy: str, clock: Clock, address: str) -> None:
        """A server process starts with an audit log."""
        self.log, self._rules, self._clock, self.address = log, read_policy(policy), clock, address

    def close(self) -> None:
        """It has ended."""
        self.log = None

    def note(self, request: Request, route: Route | None, code: int, status: Mapping[str, Any] | None = None) -> None:
        """A write was answered; `status` says why it was refused."""
        if self.log is None or self._clock is None or request.method not in _VERBS:
            return
        verb = _VERBS[request.method]
        if verb == "delete" and route is not None and not route.name:
            verb = "deletecollection"
        level = next((rule.level for rule in self._rules if rule.matches(request, verb, route)), "None")
        if level == "None":
            return
        self._noted += 1
        why = (str(status.get("reason", "")), str(status.get("message", ""))) if status is not None else ("", "")
        where = ("", "", "", "", "", "")
        if route is not None:
            one = route.resource
            name = route.name or _name_in(request.body)
            where = (one.plural, route.namespace, name, one.group, one.version, route.subresource)
        user = (request.user.name, request.user.uid, request.user.groups)
        noted = Noted(
            self._clock.now, mix(self._noted, self._clock.now), verb, request.target, user, request.user_agent,
            self.address, where, code, why,
        )  # fmt: skip
        self.log.write_lazily(self._clock.now, AuditLine(noted))


def _name_in(body: object) -> str:
    """The name that an object says in a request to make it."""
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return name if isinstance(name, str) else ""


class Noted(NamedTuple):
    """A request that was answered.

    Attributes:
        where: resource, namespace, name, group, version, subresource.
        why: reason and message of a refusal.
    """

    t_ns: int
    key: int
    verb: str
    target: str
    user: tuple[str, str, tuple[str, ...]]
    agent: str
    address: str
    where: tuple[str, str, str, str, str, str]
    code: int
    why: tuple[str, str]

    def text(self) -> str:
        """The line."""
        digits = f"{mix(self.key, 1):016x}{mix(self.key, 2):016x}"
        name, uid, groups = self.user
        keys = ("resource", "namespace", "name", "apiGroup", "apiVersion", "subresource")
        status: dict[str, Any] = {"metadata": {}}
        if self.code >= 400:
            status |= {"status": "Failure", "message": self.why[1], "reason": self.why[0]}
        allowed = "forbid" if self.code == 403 and self.why[0] == "Forbidden" else "allow"
        event = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}",
            "stage": "ResponseComplete",
            "requestURI": self.target,
            "verb": self.verb,
            "user": {"username": name, **({"uid": uid} if uid else {}), "groups": list(groups)},
            "sourceIPs": [self.address],
            "userAgent": self.agent,
            "objectRef": {key: value for key, value in zip(keys, self.where, strict=True) if value},
            "responseStatus": {**status, "code": self.code},
            "requestReceivedTimestamp": format_rfc3339(self.t_ns, digits=6),
            "stageTimestamp": format_rfc3339(self.t_ns + 4 * MILLISECOND + self.key % MILLISECOND, digits=6),
            "annotations": {"authorization.k8s.io/decision": allowed, "authorization.k8s.io/reason": ""},
        }
        return json.dumps(event, separators=(",", ":"), ensure_ascii=False)


class AuditLine(LazyLines):
    """One event, worded when somebody reads it."""

    __slots__ = ("noted",)

    def __init__(self, noted: Noted) -> None:
        self.noted = noted

    def __reduce__(self) -> tuple[type[AuditLine], tuple[Noted]]:
        return (AuditLine, (self.noted,))

    @property
    def size_bytes(self) -> int:
        """About."""
        return _FRAME_BYTES + len(self.noted.target) + len(self.noted.why[1])

    @property
    def count(self) -> int:
        """One."""
        return 1

    @property
    def span(self) -> tuple[int, int]:
        """Its instant."""
        return self.noted.t_ns - 1, self.noted.t_ns

    @property
    def streams(self) -> tuple[str, ...]:
        """A file has none; whoever tails it sees one."""
        return ("stdout",)

    def lines(self, last: int | None = None, needle: str = "", reading: Reading | None = None) -> list[LogLine]:
        """The line."""
        return [LogLine(self.noted.t_ns, "stdout", self.noted.text())]
