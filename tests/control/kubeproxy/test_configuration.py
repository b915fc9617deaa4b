"""What kube-proxy reads when it starts, and what it refuses."""

from __future__ import annotations

import re

import pytest

from simcluster.control.kubeproxy.configuration import ConfigurationError, flags_of, from_file, from_mode
from simcluster.engine import SECOND
from simcluster.world.world import World

HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"


def test_periods_have_the_defaults_of_the_mode() -> None:
    assert from_file(HEAD).min_sync_ns == SECOND
    assert from_file(f"{HEAD}mode: ipvs\n").min_sync_ns == 0
    assert from_file(f"{HEAD}iptables: {{minSyncPeriod: 10s}}\n").min_sync_ns == 10 * SECOND
    assert from_mode("nftables").mode == "nftables"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{HEAD}mode: bogus\n", 'Mode.ProxyMode: Invalid value: "bogus": must be iptables, ipvs, nftables or blank'),
        (f"{HEAD}bindAddress: here\n", 'BindAddress: Invalid value: "here": not a valid textual representation'),
        (f"{HEAD}iptables: {{minSyncPeriod: 60s}}\n", "must be greater than or equal to"),
        (f"{HEAD}iptables: {{minSyncPeriod: soon}}\n", 'invalid duration "soon"'),
        ("kind: Other\napiVersion: v1\n", 'no kind "Other" is registered for version "v1"'),
        ("mode: [\n", "failed complete: yaml: line "),
        ("just words", "json parse error"),
        ("mode: ipvs\n", "Object 'Kind' is missing"),
    ],
)
def test_what_it_does_not_start_with(text: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        from_file(text)


def test_flags() -> None:
    assert flags_of(("kube-proxy", "--config", "/a", "--v=2", "--cleanup")) == {"config": "/a", "v": "2", "cleanup": ""}


def test_a_wrong_mode_breaks_the_pods_of_a_rollout() -> None:
    world = World(0, workers=1)
    kubectl = world.kubectl(namespace="kube-system")
    assert '"Using iptables Proxier"' in kubectl.run("logs -l k8s-app=kube-proxy --tail=-1").stdout
    text = kubectl.run("get configmap kube-proxy -o yaml").stdout
    kubectl.run("replace -f -", re.sub(r"(?m)^    mode: .*", "    mode: bogus", text))
    kubectl.run("rollout restart daemonset/kube-proxy")
    world.run_for(30 * SECOND)
    assert "CrashLoopBackOff" in kubectl.run("get pods -l k8s-app=kube-proxy").stdout
    assert (
        r"KubeProxyConfiguration.Mode.ProxyMode: Invalid value: \"bogus\""
        in kubectl.run("logs -l k8s-app=kube-proxy --tail=-1").stdout
    )
