"""The types of Cloud-OpsBench that need nothing but what Online Boutique has, over every component that fits."""

from __future__ import annotations

import pytest

from simcluster.eval.proof.pairs import Pair, check_pair, fit, sampled
from simcluster.faults import registry

APP = "online-boutique"
#: Label of the data set -> on how many components, or with how many values on them, at least.
TYPES = {
    "missing_service_account": 33,
    "namespace_cpu_quota_exceeded": 11,
    "namespace_memory_quota_exceeded": 11,
    "namespace_pod_quota_exceeded": 11,
    "namespace_service_quota_exceeded": 12,
    "namespace_storage_quota_exceeded": 1,
    "cpu_capacity_mismatch": 22,
    "memory_capacity_mismatch": 22,
    "node_affinity_mismatch": 22,
    "node_cordon_mismatch": 33,
    "node_selector_mismatch": 33,
    "pod_anti_affinity_conflict": 11,
    "pv_binding_occupied": 1,
    "pvc_access_mode_mismatch": 2,
    "pvc_capacity_mismatch": 2,
    "pvc_selector_mismatch": 2,
    "pvc_storage_class_mismatch": 2,
    "taint_toleration_mismatch": 66,
    "image_registry_dns_failure": 22,
    "incorrect_image_reference": 44,
    "missing_secret_binding": 22,
    "liveness_probe_incorrect_port": 22,
    "liveness_probe_incorrect_protocol": 11,
    "liveness_probe_incorrect_timing": 9,
    "oom_killed": 22,
    "readiness_probe_incorrect_port": 22,
    "readiness_probe_incorrect_protocol": 11,
    "deployment_zero_replicas": 11,
    "service_sidecar_port_conflict": 11,
    "service_env_var_address_mismatch": 16,
    "service_port_mapping_mismatch": 24,
    "service_protocol_mismatch": 12,
    "service_selector_mismatch": 12,
    "service_dns_resolution_failure": 12,
    "pod_network_delay": 11,
    "containerd_unavailable": 4,
    "kube_proxy_unavailable": 44,
    "kube_scheduler_unavailable": 11,
    "kubelet_unavailable": 4,
    "node_network_delay": 8,
    "node_network_packet_loss": 8,
}
#: Of so many pairs of each type, drawn by the seed, some are proved without `--whole`.
PAIRS = 5


def pairs_of(label: str) -> list[Pair]:
    return list(fit(registry.load(label).id, APP).pairs)


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize("label", TYPES)
def test_a_type_fits_what_it_can_fit(label: str) -> None:
    ids = [pair.id for pair in pairs_of(label)]
    assert len(ids) == len(set(ids)) >= TYPES[label]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(PAIRS))
@pytest.mark.parametrize("label", TYPES)
def test_pairs_of_a_sample_are_proved(label: str, number: int) -> None:
    mine = sampled(pairs_of(label), 18, PAIRS)
    pair = mine[number % len(mine)]
    assert [finding for finding in check_pair(APP, pair).findings if not finding.passed] == []
