"""`alertmanager.yml`: the tree of routes, receivers and their webhooks, inhibition.

Left out: other integrations than webhooks (they are taken, and send nothing), times of muting, templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import yaml

from simcluster.engine.clock import HOUR, MILLISECOND, MINUTE, SECOND
from simcluster.telemetry.promql import regex
from simcluster.telemetry.promql.storage import Matcher
from simcluster.telemetry.promql.tokens import duration_ms

#: Defaults of `dispatch.DefaultRouteOpts`.
GROUP_WAIT_NS, GROUP_INTERVAL_NS, REPEAT_INTERVAL_NS = 30 * SECOND, 5 * MINUTE, 4 * HOUR
_MATCHER = re.compile(r'\s*([a-zA-Z_:][\w:.]*)\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}]*?))\s*')


class ConfigError(ValueError):
    """What is wrong with a configuration, in Alertmanager's words."""


@dataclass(frozen=True)
class Route:
    """A node of the tree, with what it inherits.

    Attributes:
        key: where it is in the tree; `by` None for all labels (`...`).
    """

    key: str
    receiver: str
    matchers: tuple[Matcher, ...]
    by: tuple[str, ...] | None
    wait_ns: int
    interval_ns: int
    repeat_ns: int
    goes_on: bool
    routes: tuple[Route, ...]

    def matching(self, labels: Mapping[str, str]) -> Iterator[Route]:
        """The deepest routes that an alert takes."""
        if not holds(self.matchers, labels):
            return
        found = False
        for route in self.routes:
            below = list(route.matching(labels))
            yield from below
            found = found or bool(below)
            if below and not route.goes_on:
                break
        if not found:
            yield self


class Inhibition(NamedTuple):
    """Alerts that match `target` are muted while one that matches `source` fires, if they agree in `equal`."""

    source: tuple[Matcher, ...]
    target: tuple[Matcher, ...]
    equal: tuple[str, ...]


class Webhook(NamedTuple):
    """One of `webhook_configs`; `resolved` if it hears of alerts that are over."""

    url: str
    resolved: bool = True


@dataclass(frozen=True)
class Config:
    """All of it; `text` is as it was written, `hooks` are those of receivers that have some."""

    route: Route
    receivers: tuple[str, ...]
    inhibitions: tuple[Inhibition, ...]
    text: str
    hooks: Mapping[str, tuple[Webhook, ...]]


def holds(matchers: tuple[Matcher, ...], labels: Mapping[str, str]) -> bool:
    """Whether all matchers hold; a label that is absent is empty."""
    for one in matchers:
        value = labels.get(one.name, "")
        if one.op in ("=", "!="):
            same = value == one.value
        else:
            same = regex.compiled(one.value).match(value) is not None
        if same != (one.op in ("=", "=~")):
            return False
    return True


def matcher(text: str) -> Matcher:
    """A matcher such as `severity=~"warning|critical"`.

    Raises:
        ConfigError: it is none.
    """
    match = _MATCHER.fullmatch(text)
    if match is None:
        raise ConfigError(f"bad matcher format: {text}")
    value = match[3] if match[3] is not None else match[4]
    try:
        regex.compiled(value if match[2] in ("=~", "!~") else "")
    except regex.RegexError as error:
        raise ConfigError(str(error)) from None
    return Matcher(match[1], match[2], value.replace('\\"', '"').replace("\\\\", "\\"))


def load(text: str) -> Config:
    """A configuration.

    Raises:
        ConfigError: it is none.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"yaml: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or not isinstance(content.get("route"), dict):
        raise ConfigError("no route provided in config")
    receivers = tuple(str(each.get("name", "")) for each in content.get("receivers") or [])
    for name in receivers:
        if receivers.count(name) > 1:
            raise ConfigError(f'notification config name "{name}" is not unique')
    if not content["route"].get("receiver"):
        raise ConfigError("root route must specify a default receiver")
    if _matchers(content["route"]):
        raise ConfigError("root route must not have any matchers")
    route = _route(content["route"], None, "{}", receivers)
    inhibitions = tuple(
        Inhibition(
            _matchers(each, "source_"), _matchers(each, "target_"), tuple(str(name) for name in each.get("equal") or [])
        )
        for each in content.get("inhibit_rules") or []
    )
    hooks = {str(each.get("name", "")): _hooks(each) for each in content.get("receivers") or []}
    return Config(route, receivers, inhibitions, text, hooks)


def _hooks(receiver: Mapping[str, Any]) -> tuple[Webhook, ...]:
    found = []
    for each in receiver.get("webhook_configs") or ():
        if not each.get("url"):
            raise ConfigError("one of url or url_file must be configured")
        if not str(each["url"]).startswith(("http://", "https://")):
            raise ConfigError(f'unsupported scheme "{str(each["url"]).partition(":")[0]}" for URL')
        found.append(Webhook(str(each["url"]), bool(each.get("send_resolved", True))))
    return tuple(found)


def _matchers(content: Mapping[str, Any], prefix: str = "") -> tuple[Matcher, ...]:
    found = [Matcher(str(k), "=", str(v)) for k, v in (content.get(f"{prefix}match") or {}).items()]
    found += [Matcher(str(k), "=~", str(v)) for k, v in (content.get(f"{prefix}match_re") or {}).items()]
    for text in content.get(f"{prefix}matchers") or []:
        found += [matcher(part) for part in str(text).strip("{} ").split(",") if part.strip()]
    return tuple(sorted(found))


def _duration(content: Mapping[str, Any], name: str, default: int) -> int:
    value = content.get(name)
    if value is None:
        return default
    found = duration_ms(str(value)) * MILLISECOND
    if not found and name != "group_wait":
        raise ConfigError(f"{name} cannot be zero")
    return found


def _route(content: Mapping[str, Any], above: Route | None, key: str, receivers: tuple[str, ...]) -> Route:
    receiver = str(content.get("receiver") or (above.receiver if above else ""))
    if receiver not in receivers:
        raise ConfigError(f'undefined receiver "{receiver}" used in route')
    by: tuple[str, ...] | None = above.by if above else ()
    if content.get("group_by") is not None:
        by = None if "..." in content["group_by"] else tuple(str(name) for name in content["group_by"])
    route = Route(
        key,
        receiver,
        _matchers(content),
        by,
        _duration(content, "group_wait", above.wait_ns if above else GROUP_WAIT_NS),
        _duration(content, "group_interval", above.interval_ns if above else GROUP_INTERVAL_NS),
        _duration(content, "repeat_interval", above.repeat_ns if above else REPEAT_INTERVAL_NS),
        bool(content.get("continue")),
        (),
    )
    below = tuple(
        _route(each, route, f"{key}/{index}", receivers) for index, each in enumerate(content.get("routes") or [])
    )
    return replace(route, routes=below)
