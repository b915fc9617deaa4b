"""Alertmanager's API v2 as a function of a request and an instant."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs

from simcluster.engine.clock import format_rfc3339, parse_rfc3339
from simcluster.telemetry.alertmanager.config import ConfigError, holds, matcher
from simcluster.telemetry.alertmanager.state import RESOLVE_NS, Alert, Alertmanager, Group, Silence
from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.answers import Answer, answer, encoded, plain
from simcluster.telemetry.promql.storage import Matcher

VERSION = "0.27.0"
_SILENCE = re.compile(r"/api/v2/silence/([^/]+)")
_UUID = re.compile(r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: What go-openapi takes for true (`swag.ConvertBool`); anything else is false.
_TRUE = ("true", "1", "yes", "ok", "y", "on", "selected", "checked", "t", "enabled")
#: Codes of go-openapi's validation; all of them are a 422.
_INVALID_TYPE, _REQUIRED, _TOO_FEW = 601, 602, 612
_GONE = {
    "status": "deprecated",
    "error": "The Alertmanager v1 API was deprecated in version 0.16.0 and is removed as of version 0.27.0"
    " - please use the equivalent route in the v2 API",
}


class _Invalid(Exception):
    """A request that does not fit the description of the API."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def handle(manager: Alertmanager, request: tuple[str, str, str, bytes], now_ns: int) -> Answer:
    """The answer to `(method, path, query string, body)`."""
    method, path, query, body = request
    values = parse_qs(query, keep_blank_values=True)
    silence = _SILENCE.fullmatch(path)
    try:
        if path in ("/-/healthy", "/-/ready"):
            return plain(200, "OK")
        if path.startswith("/api/v1/"):
            return answer(410, json.dumps(_GONE) + "\n")
        if silence is not None and not _UUID.fullmatch(silence[1]):
            raise _Invalid(_INVALID_TYPE, f'silenceID in path must be of type uuid: "{silence[1]}"')
        if silence is not None:
            return _silence(manager, method, silence[1], now_ns)
        if (method, path) == ("POST", "/api/v2/alerts"):
            return _post_alerts(manager, body, now_ns)
        if (method, path) == ("POST", "/api/v2/silences"):
            return _post_silence(manager, body, now_ns)
        if method == "GET" and path in _READS:
            return answer(200, encoded(_READS[path](manager, values, now_ns)) + "\n")
    except _Invalid as wrong:
        return answer(422, encoded({"code": wrong.code, "message": str(wrong)}))
    except ConfigError as error:
        return answer(400, json.dumps(str(error)) + "\n")
    if path in _READS or path == "/api/v2/alerts":
        return answer(405, encoded({"code": 405, "message": f"method {method} is not allowed, but [GET,POST] are"}))
    return answer(404, encoded({"code": 404, "message": f"path {path} was not found"}))


def _instant(t_ns: int) -> str:
    return format_rfc3339(t_ns, digits=3)


def _status(manager: Alertmanager, values: dict[str, list[str]], now_ns: int) -> Any:
    return {
        "cluster": {"peers": [], "status": "disabled"},
        "config": {"original": manager.config.text},
        "uptime": _instant(manager.started_ns),
        "versionInfo": {
            "branch": "HEAD",
            "buildDate": "",
            "buildUser": "",
            "goVersion": "go1.21.7",
            "revision": "",
            "version": VERSION,
        },
    }


def _receivers(manager: Alertmanager, values: dict[str, list[str]], now_ns: int) -> Any:
    return [{"name": name} for name in manager.config.receivers]


def _shown(manager: Alertmanager, alert: Alert, receivers: list[str], now_ns: int) -> dict[str, Any]:
    silenced, inhibited = manager.silenced_by(alert, now_ns), manager.inhibited_by(alert, now_ns)
    state = "suppressed" if silenced or inhibited else "active"
    return {
        "annotations": alert.annotations,
        "endsAt": _instant(alert.ends_ns),
        "fingerprint": alert.fingerprint,
        "receivers": [{"name": name} for name in receivers],
        "startsAt": _instant(alert.starts_ns),
        "status": {"inhibitedBy": inhibited, "silencedBy": silenced, "state": state},
        "updatedAt": _instant(alert.updated_ns),
        "generatorURL": alert.url,
        "labels": dict(alert.labels),
    }


def _filters(values: dict[str, list[str]]) -> tuple[Matcher, ...]:
    return tuple(matcher(text) for text in values.get("filter", []))


def _flag(values: dict[str, list[str]], name: str) -> bool:
    return (values.get(name, [""])[0] or "true").lower() in _TRUE


def _wanted(values: dict[str, list[str]], shown: dict[str, Any]) -> bool:
    status = shown["status"]
    if status["silencedBy"] and not _flag(values, "silenced"):
        return False
    if status["inhibitedBy"] and not _flag(values, "inhibited"):
        return False
    return status["state"] != "active" or _flag(values, "active")


def _receiver(values: dict[str, list[str]]) -> Any:
    pattern = values.get("receiver", [""])[0]
    try:
        return regex.compiled(pattern) if pattern else None
    except regex.RegexError as error:
        raise ConfigError(f"failed to parse receiver param: {error}") from None


def _alerts(manager: Alertmanager, values: dict[str, list[str]], now_ns: int) -> Any:
    filters, receiver = _filters(values), _receiver(values)
    found = []
    for alert in manager.alerts.values():
        names = manager.receivers(dict(alert.labels))
        if alert.ends_ns <= now_ns or not holds(filters, dict(alert.labels)):
            continue
        if receiver is not None and not any(receiver.match(name) for name in names):
            continue
        shown = _shown(manager, alert, names, now_ns)
        if _wanted(values, shown):
            found.append(shown)
    return sorted(found, key=lambda each: str(each["fingerprint"]))


def _groups(manager: Alertmanager, values: dict[str, list[str]], now_ns: int) -> Any:
    filters, receiver = _filters(values), _receiver(values)
    found = []
    for group in sorted(manager.groups.values(), key=lambda each: (each.labels, each.route.receiver)):
        if receiver is not None and not receiver.match(group.route.receiver):
            continue
        shown = [each for each in _in_group(manager, group, now_ns) if _wanted(values, each)]
        shown = [each for each in shown if holds(filters, each["labels"])]
        if shown:
            found.append({"alerts": shown, "labels": dict(group.labels), "receiver": {"name": group.route.receiver}})
    return found


def _in_group(manager: Alertmanager, group: Group, now_ns: int) -> list[dict[str, Any]]:
    alerts = [manager.alerts[labels] for labels in group.alerts]
    return [_shown(manager, alert, [group.route.receiver], now_ns) for alert in alerts if alert.ends_ns > now_ns]


def _post_alerts(manager: Alertmanager, body: bytes, now_ns: int) -> Answer:
    found = []
    for each in _json(body, list):
        labels = each.get("labels") if isinstance(each, dict) else None
        if not isinstance(labels, dict) or not any(labels.values()):
            raise ConfigError("at least one label pair required")
        ends = _time(each.get("endsAt"), now_ns + RESOLVE_NS)
        starts = _time(each.get("startsAt"), min(now_ns, ends))
        if ends < starts:
            raise ConfigError("start time must be before end time")
        key = tuple(sorted((str(name), str(value)) for name, value in labels.items() if value))
        annotations = {str(name): str(value) for name, value in (each.get("annotations") or {}).items()}
        found.append(Alert(key, annotations, starts, ends, now_ns, str(each.get("generatorURL") or "")))
    manager.put(now_ns, found)
    return answer(200, "")


def _json(body: bytes, kind: type) -> Any:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise ConfigError("parsing body from request failed: invalid JSON") from None
    if not isinstance(content, kind):
        raise ConfigError("parsing body from request failed: unexpected type")
    return content


def _time(value: Any, default: int) -> int:
    if not value or str(value).startswith("0001-01-01"):
        return default
    try:
        return parse_rfc3339(str(value))
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _shown_silence(one: Silence, now_ns: int) -> dict[str, Any]:
    return {
        "id": one.id,
        "status": {"state": one.state(now_ns)},
        "updatedAt": _instant(one.updated_ns),
        "comment": one.comment,
        "createdBy": one.creator,
        "endsAt": _instant(one.ends_ns),
        "matchers": [
            {
                "isEqual": each.op in ("=", "=~"),
                "isRegex": each.op.endswith("~"),
                "name": each.name,
                "value": each.value,
            }
            for each in one.matchers
        ],
        "startsAt": _instant(one.starts_ns),
    }


def _silences(manager: Alertmanager, values: dict[str, list[str]], now_ns: int) -> Any:
    filters = _filters(values)
    order = {"active": 0, "pending": 1, "expired": 2}
    found = [one for one in manager.silences.values() if _covers(filters, one)]
    found.sort(
        key=lambda one: (order[one.state(now_ns)], one.ends_ns if one.state(now_ns) == "active" else -one.ends_ns)
    )
    return [_shown_silence(one, now_ns) for one in found]


def _covers(filters: tuple[Matcher, ...], one: Silence) -> bool:
    named = {each.name: each.value for each in one.matchers}
    return holds(filters, named)


def _post_silence(manager: Alertmanager, body: bytes, now_ns: int) -> Answer:
    content = _json(body, dict)
    for name in ("comment", "createdBy", "endsAt", "matchers", "startsAt"):
        if content.get(name) is None:
            raise _Invalid(_REQUIRED, f"{name} in body is required")
    if not content["matchers"]:
        raise _Invalid(_TOO_FEW, "matchers in body should have at least 1 items")
    matchers = []
    for each in content.get("matchers") or []:
        equal, pattern = each.get("isEqual", True), each.get("isRegex", False)
        op = ("=~" if equal else "!~") if pattern else ("=" if equal else "!=")
        matchers.append(Matcher(str(each.get("name", "")), op, str(each.get("value", ""))))
    if holds(tuple(matchers), {}):
        raise ConfigError("silence invalid: at least one matcher must not match the empty string")
    starts, ends = _time(content.get("startsAt"), now_ns), _time(content.get("endsAt"), 0)
    if ends <= starts:
        raise ConfigError("silence invalid: end time must not be before start time")
    if ends <= now_ns:
        raise ConfigError("silence invalid: end time can't be in the past")
    identity = str(content.get("id") or "")
    if identity and identity not in manager.silences:
        return answer(404, json.dumps("silence not found") + "\n")
    wanted = Silence(
        identity,
        tuple(matchers),
        starts,
        ends,
        now_ns,
        str(content.get("createdBy") or ""),
        str(content.get("comment") or ""),
    )
    return answer(200, encoded({"silenceID": manager.silence(now_ns, wanted)}) + "\n")


def _silence(manager: Alertmanager, method: str, identity: str, now_ns: int) -> Answer:
    known = manager.silences.get(identity)
    if known is None:
        return answer(404, "")
    if method == "DELETE":
        if known.state(now_ns) == "expired":
            return answer(500, json.dumps(f"silence {identity} already expired") + "\n")
        manager.expire(now_ns, identity)
        return answer(200, "")
    if method not in ("GET", "HEAD"):
        return answer(405, encoded({"code": 405, "message": f"method {method} is not allowed, but [DELETE,GET] are"}))
    return answer(200, encoded(_shown_silence(known, now_ns)) + "\n")


_READS = {
    "/api/v2/status": _status,
    "/api/v2/receivers": _receivers,
    "/api/v2/alerts": _alerts,
    "/api/v2/alerts/groups": _groups,
    "/api/v2/silences": _silences,
}
