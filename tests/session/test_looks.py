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


#: What operators look around with (sections 1 and 8 of the manual, and filters of POSIX), one program a word.
LOOKERS = """
ls cat stat file find du df free uptime uname hostname whoami id echo grep egrep head tail sort uniq wc cut tr awk less
more jq true ps top pgrep lsof vmstat iostat mpstat pidstat sar nproc lscpu findmnt lsblk blkid ss netstat nstat ping
dig nslookup journalctl last w which
"""
#: Words that only show, and ones that do something, of programs that can do both.
BOTH = {
    "systemctl": (
        "status is-active is-enabled is-failed list-units list-timers show cat",
        "start stop restart enable disable mask kill reload isolate poweroff daemon-reload",
    ),
    "crictl": (
        "ps pods images inspect inspectp inspecti logs stats statsp info version",
        "stop rm rmi pull exec stopp rmp run",
    ),
    "chronyc": ("tracking sources sourcestats activity", "makestep burst add delete online offline"),
    "timedatectl": ("status show timesync-status", "set-time set-ntp set-timezone"),
    "nvme": ("list smart-log error-log id-ctrl", "format reset sanitize"),
    "conntrack": ("-L -S -C -G --dump --stats --count --get", "-D -F -I -U"),
    "dmesg": ("-T -H -x", "-c -C --clear --read-clear -D -E -n"),
    "journalctl": ("-k -b -r", "--rotate --flush --sync"),
    "ethtool": ("-S -i -k -g -a -c -T --statistics", "-s -K -G -A -C"),
    "sysctl": ("-a -n", "-w -p --write --load --system a=1"),
    "smartctl": ("-a -H -i -x", "-t -X -s -o -S --test --set"),
    "find": ("-name -type", "-delete -exec -execdir -ok"),
    "sort": ("-n -r", "-o"),
    "awk": ("-F", "-i"),
}


@pytest.mark.parametrize("program", LOOKERS.split())
def test_a_program_that_only_looks(program: str) -> None:
    assert only_looks(program)
    assert only_looks(f"sudo {program} | {program}")
    assert not only_looks(f"{program} > /etc/hosts")
    assert not only_looks(f"{program}x")


@pytest.mark.parametrize("program", BOTH)
def test_a_program_that_looks_by_some_words_only(program: str) -> None:
    look, do = BOTH[program]
    assert [word for word in look.split() if not only_looks(f"{program} {word}")] == []
    assert [word for word in do.split() if only_looks(f"{program} {word}")] == []


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
