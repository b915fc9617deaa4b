"""What a KubeletConfiguration says of limits, reserves and names: eviction thresholds, tasks, pods, name servers.

Source: pkg/kubelet/eviction/helpers.go (ParseThresholdConfig) of 1.32. To set
`evictionHard` replaces all of its defaults. Left out: `evictionMinimumReclaim`.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import yaml

from simcluster.api import quantity
from simcluster.api.schema.yamltext import YamlSyntaxError, decode_yaml
from simcluster.control.kubelet.config import KubeletConfig, SoftThreshold
from simcluster.engine import parse_duration
from simcluster.models.machine.machine import Machine

CONFIG_FILE = "/var/lib/kubelet/config.yaml"


def amount_of(text: str, total: int) -> int:
    """What a threshold's value means: a quantity, or a percentage of the whole.

    >>> [amount_of(text, 2000) for text in ("10%", "1Ki", "500")]
    [200, 1024, 500]
    """
    if text.endswith("%"):
        return int(float(text[:-1]) * total / 100)
    return quantity.to_bytes(text)


def unreadable(text: str | None) -> str:
    """Why a kubelet ends when it reads this file, as it says; empty if it goes on.

    Args:
        text: None: there is no such file.
    """
    if text is None:
        absent = f"open {CONFIG_FILE}: no such file or directory"
        why = f'failed to read kubelet config file "{CONFIG_FILE}", error: {absent}'
    else:
        try:
            documents = decode_yaml(text)[0]
        except YamlSyntaxError as error:
            why = f"failed to decode, error: {error}"
        else:
            if isinstance(next(iter(documents), None), Mapping):
                return ""
            why = "failed to decode, error: couldn't get version/kind; json parse error"
    load = f"failed to load Kubelet config file {CONFIG_FILE}, error {why}"
    return f"failed to load kubelet config file, path: {CONFIG_FILE}, error: {load}"


def configured(config: KubeletConfig, text: str, memory_bytes: int) -> KubeletConfig:
    """The configuration with the limits that a KubeletConfiguration file sets."""
    given = _read(text)
    hard, soft = given.get("evictionHard"), given.get("evictionSoft")
    if hard is not None:
        disk = str(hard.get("nodefs.available", "0%"))
        config = replace(
            config,
            eviction_memory_kib=amount_of(str(hard.get("memory.available", "0")), memory_bytes) >> 10,
            eviction_disk_percent=int(float(disk.rstrip("%"))) if disk.endswith("%") else config.eviction_disk_percent,
            eviction_pids=str(hard.get("pid.available", "")),
        )
    if soft is not None:
        graces = given.get("evictionSoftGracePeriod") or {}
        found = [SoftThreshold(name, str(value), parse_duration(graces[name])) for name, value in soft.items()]
        config = replace(config, eviction_soft=tuple(found))
    if "podPidsLimit" in given:
        config = replace(config, pod_pids_limit=int(given["podPidsLimit"]))
    millicores, kib = _reserved(given)
    config = replace(config, max_pods=int(given.get("maxPods") or 0), reserved_millicores=millicores, reserved_kib=kib)
    if given.get("clusterDNS"):
        config = replace(config, cluster_dns=tuple(str(server) for server in given["clusterDNS"]))
    most = given.get("evictionMaxPodGracePeriod")
    return config if most is None else replace(config, eviction_max_pod_grace_s=int(most))


def _reserved(given: Mapping[str, Any]) -> tuple[int, int]:
    """What the system and the kubelet keep for themselves: millicores, KiB."""
    kept: list[Mapping[str, Any]] = [given.get(key) or {} for key in ("systemReserved", "kubeReserved")]
    cpu = [quantity.to_millicores(str(one.get("cpu", "0"))) for one in kept]
    memory = [quantity.to_bytes(str(one.get("memory", "0"))) >> 10 for one in kept]
    return sum(cpu), sum(memory)  # integers


def configured_pids(machine: Machine) -> int:
    """`podPidsLimit` of the kubelet's file on a machine; -1: no limit."""
    file = machine.files.find(CONFIG_FILE)
    return -1 if file is None else int(_read(file.text).get("podPidsLimit", -1))


@functools.lru_cache(maxsize=16)
def _read(text: str) -> Mapping[str, Any]:
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}
