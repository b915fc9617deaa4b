"""A kubelet reads its file when it starts, and ends if it cannot: systemd starts it again and again until it can."""

from __future__ import annotations

import pytest

import simcluster

FILE = "/var/lib/kubelet/config.yaml"


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (f"sed -i 's/^kind: .*/kind: [/' {FILE}", "failed to decode, error: yaml: line"),
        (f"mv {FILE} /root/", f'failed to read kubelet config file \\"{FILE}\\", error: open {FILE}: no such file'),
    ],
)
def test_what_cannot_be_read_ends_it(harm: str, said: str) -> None:
    box = simcluster.sandbox(nodes=1, seed=1)
    shell = box.node("worker-1").sh
    assert shell(f"cp {FILE} /root/kept && {harm}").exit_code == 0
    assert shell("systemctl is-active kubelet").stdout == "active\n"  # it has read its file before
    shell("systemctl restart kubelet")
    box.wait("75s")
    assert "NotReady" in box.kubectl("get node worker-1").stdout
    assert "activating (auto-restart)" in shell("systemctl status kubelet").stdout
    journal = shell("journalctl -u kubelet --no-pager").stdout
    assert said in journal
    assert "kubelet.service: Main process exited, code=exited, status=1/FAILURE" in journal
    shell(f"cp /root/kept {FILE}")
    box.wait("30s")
    assert " Ready" in box.kubectl("get node worker-1").stdout
