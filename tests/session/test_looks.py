"""What commands are charged as, and which command lines on a node count as looking."""

from __future__ import annotations

import pytest

from simcluster.session.looks import kubectl_charge, only_looks


@pytest.mark.parametrize(
    "command",
    [
        "",
        "dmesg -T | grep -i error | tail -20",
        "smartctl -a /dev/sda",
        "iostat -x 1 2",
        "conntrack -S",
        "sysctl net.netfilter.nf_conntrack_max",
        "systemctl status kubelet --no-pager",
        "systemctl",
        "chronyc tracking",
        "cat /proc/mounts | awk '$4 ~ /ro/ {print $2}'",
        "ls /nowhere 2>/dev/null",
        "ip -s link show eth0; ss -s && df -h",
        "sudo journalctl -u kubelet -n 50 2>&1",
        "mount | grep ext4",
        "date",
    ],
)
def test_looks(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "systemctl restart kubelet",
        "sysctl -w net.netfilter.nf_conntrack_max=1",
        "sysctl vm.swappiness=10",
        "dmesg -C",
        "smartctl -t long /dev/sda",
        "conntrack -F",
        "mount -o remount,rw /",
        "echo 1 > /proc/sys/vm/drop_caches",
        "cat a | tee b",
        "df -h; reboot",
        "cat $(rm -rf /tmp/x)",
        "date -s 12:00",
        "find / -name core -delete",
        "tc qdisc del dev eth0 root",
        "ip link set eth0 down",
        "ls 'unbalanced",
        "unknown-program",
    ],
)
def test_may_write(command: str) -> None:
    assert not only_looks(command)


@pytest.mark.parametrize(
    ("line", "cost"),
    [
        ("get pods", "read"),
        ("-n x describe pod y", "read"),
        ("logs x", "read"),
        ("logs -f x", "look"),
        ("logs x -n foo", "read"),
        ("exec x -- ls", "look"),
        ("rollout status deploy/x", "read"),
        ("rollout undo deploy/x", "write"),
        ("top pods", "read"),
        ("set env deploy/x --list", "read"),
        ("scale deploy x --replicas=1", "write"),
        ("nonsense", "read"),
        ("get 'pods", "read"),
        ("kubectl delete pod x", "write"),
    ],
)
def test_costs(line: str, cost: str) -> None:
    assert kubectl_charge(line) == cost
