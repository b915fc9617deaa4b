"""The rules, from what explains most to what explains least."""

from __future__ import annotations

from collections.abc import Callable

from simcluster.agents.runbook.deployments import failing_rollouts, suspicious_addresses, wrong_addresses, wrong_images
from simcluster.agents.runbook.drives import slow_drives
from simcluster.agents.runbook.hardware import broken_drives, machines_without_power
from simcluster.agents.runbook.hosts import bad_links, full_tables, greedy_processes, hot_processors, wrong_clocks
from simcluster.agents.runbook.nodes import cordoned_nodes, stopped_kubelets
from simcluster.agents.runbook.reading import Finding, Reading
from simcluster.agents.runbook.releases import leaking_versions, littering_versions, starved_versions
from simcluster.agents.runbook.resources import scaled_to_zero, throttled
from simcluster.agents.runbook.retries import retry_storms
from simcluster.agents.runbook.services import wrong_ports, wrong_selectors

Rule = Callable[[Reading], list[Finding]]

RULES: tuple[Rule, ...] = (
    machines_without_power,
    stopped_kubelets,
    broken_drives,
    wrong_clocks,
    wrong_images,
    leaking_versions,
    littering_versions,
    wrong_selectors,
    wrong_ports,
    wrong_addresses,
    retry_storms,
    full_tables,
    hot_processors,
    greedy_processes,
    bad_links,
    slow_drives,
    throttled,
    cordoned_nodes,
    scaled_to_zero,
    failing_rollouts,
    starved_versions,
)
#: Only when nothing else was found for a while.
LAST_RESORTS: tuple[Rule, ...] = (suspicious_addresses,)
