"""kube-proxy's configuration: its flags and its file, checked as kube-proxy checks them.

Source: pkg/proxy/apis/config/{validation,v1alpha1/defaults}.go and cmd/kube-proxy/app/options.go of
Kubernetes 1.32. What the rules obey are the mode's name and its sync periods. Left out: other fields
of the file, feature gates, strict decoding's warnings.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from simcluster.engine import SECOND, parse_duration
from simcluster.models.machine.names import is_address

MODES = ("iptables", "ipvs", "nftables")
_GROUP, _KIND = "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"
#: Defaults of iptables and nftables; ipvs waits for nothing.
_MIN_SYNC_NS, _SYNC_NS = 1 * SECOND, 30 * SECOND
_ROOT = _KIND
_BEST = "(blank means the best-available proxy [currently iptables])"


class ConfigurationError(Exception):
    """kube-proxy does not start with this; the text is what it says."""


class ProxyConfiguration(NamedTuple):
    """What a kube-proxy goes by.

    Attributes:
        mode: `iptables`, `ipvs` or `nftables`.
        min_sync_ns: shortest time between two syncs of the rules.
    """

    mode: str = "iptables"
    min_sync_ns: int = _MIN_SYNC_NS


def flags_of(words: tuple[str, ...]) -> dict[str, str]:
    """`--name=value` and `--name value` of a command line."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("--"):
            follows = words[index + 1] if index + 1 < len(words) else ""
            found[name] = value if equals else "" if follows.startswith("--") else follows
    return found


@functools.lru_cache(maxsize=64)
def from_file(text: str) -> ProxyConfiguration:
    """The configuration in a file. Raises ConfigurationError."""
    try:
        read = _parsed(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        problem = getattr(error, "problem", "") or "bad document"
        raise ConfigurationError(f"failed complete: yaml: line {line}: {problem}") from None
    if not isinstance(read, Mapping):
        shown = "string" if isinstance(read, str) else "array" if isinstance(read, list) else "number"
        why = f"json: cannot unmarshal {shown} into Go value of type struct"
        raise ConfigurationError(f"failed complete: couldn't get version/kind; json parse error: {why}")
    kind, version = str(read.get("kind") or ""), str(read.get("apiVersion") or "")
    if not kind:
        raise ConfigurationError(f"failed complete: Object 'Kind' is missing in '{text.strip()[:200]}'")
    if (version, kind) != (_GROUP, _KIND):
        scheme = "k8s.io/kubernetes/pkg/proxy/apis/config/scheme/scheme.go:30"
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "{scheme}"'
        raise ConfigurationError(f"failed complete: {why}")
    return _checked(read)


def _parsed(text: str) -> Any:
    """The document, by libyaml if it understands it; errors are PyYAML's own."""
    try:
        return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.safe_load(text)


def from_mode(mode: str) -> ProxyConfiguration:
    """The configuration of a kube-proxy that has only flags. Raises ConfigurationError."""
    return _checked({"mode": mode})


def _checked(read: Mapping[str, Any]) -> ProxyConfiguration:
    mode = str(read.get("mode") or "")
    own = read.get(mode if mode in MODES else "iptables")
    periods: Mapping[str, Any] = own if isinstance(own, Mapping) else {}
    sync_ns = _period(periods, "syncPeriod") or _SYNC_NS
    min_sync_ns = _period(periods, "minSyncPeriod") or (0 if mode == "ipvs" else _MIN_SYNC_NS)
    problems = []
    if mode and mode not in MODES:
        allowed = f"must be {', '.join(MODES)} or blank {_BEST}"
        problems.append(f'{_ROOT}.Mode.ProxyMode: Invalid value: "{mode}": {allowed}')
    if min_sync_ns > sync_ns:
        shown = f"v1.Duration{{Duration:{min_sync_ns}}}: must be greater than or equal to {_ROOT}.MinSyncPeriod"
        problems.append(f"{_ROOT}.SyncPeriod: Invalid value: {shown}")
    address = str(read.get("bindAddress") or "0.0.0.0")
    if not is_address(address) and ":" not in address:
        why = "not a valid textual representation of an IP address"
        problems.append(f'{_ROOT}.BindAddress: Invalid value: "{address}": {why}')
    if problems:
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise ConfigurationError(f"failed validate: {text}")
    return ProxyConfiguration(mode or "iptables", min_sync_ns)


def _period(periods: Mapping[str, Any], name: str) -> int:
    text = str(periods.get(name) or "0s")
    try:
        return parse_duration(text)
    except ValueError:
        raise ConfigurationError(f'failed complete: time: invalid duration "{text}"') from None
