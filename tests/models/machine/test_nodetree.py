"""One view of a node's files: every tool and the kubelet see the same at a path, whoever keeps it."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from simcluster.models.machine.nodetree import NodeTree
from simcluster.models.machine.shell.files import FileError
from simcluster.surface.nodeshell import NodeShell
from tests.clusters.nodes import NodeBench
from tests.clusters.onemachine import one_machine

DATA = "/var/local-path-provisioner/pvc-1"


class Clock:
    def __init__(self, sim):
        self.sim = sim

    @property
    def now(self):
        return self.sim.now

    def advance(self, duration_ns):
        self.sim.run_for(duration_ns)


def shell(machine):
    return NodeShell(machine, Clock(machine.sim))


@pytest.fixture
def sh():
    return shell(one_machine())


def with_data(sh):
    system = sh.host.files_at(DATA)
    assert system.allocate(f"{DATA}/db/data.wt", 200 << 20) == ""
    sh.sh(f"echo hello > {DATA}/db/notes")
    return system


def test_badblocks_wants_its_last_block_before_its_first(sh):
    found = sh.sh("badblocks -v -b 4096 /dev/sda 10 30; dd if=/dev/sda of=/dev/null bs=4096 count=1")
    assert found.stderr.startswith("badblocks: invalid starting block (30): must be less than 10\n1+0 records in\n")
    assert found.exit_code == 0
    assert "Checking blocks 10 to 30\n" in sh.sh("badblocks -v -b 4096 /dev/sda 30 10").stderr
    assert sh.sh("badblocks /dev/sda ten").stderr == "badblocks: invalid last block - ten\n"


def test_a_rename_reads_no_data(sh):
    system = with_data(sh)
    system.spoil(f"{DATA}/db/data.wt", 4096)
    before, sector = sh.clock.now, system.sector_of(f"{DATA}/db/data.wt")
    assert str(sh.sh(f"mv {DATA}/db {DATA}/kept")) == ""
    assert sh.clock.now == before
    assert system.sector_of(f"{DATA}/kept/data.wt") == sector
    assert sh.sh(f"ls {DATA}; cat {DATA}/kept/notes").stdout == "kept\nhello\n"
    assert sh.sh(f"mv {DATA}/kept/data.wt /var/lib/").stderr.startswith(f"mv: error reading '{DATA}/kept/data.wt': In")
    assert system.exists(f"{DATA}/kept/data.wt")


def test_a_rename_takes_the_place_of_another_file(sh):
    system = with_data(sh)
    sh.sh(f"echo old > {DATA}/other; mv {DATA}/db/data.wt {DATA}/other")
    assert sh.sh(f"stat -c %s {DATA}/other").stdout == f"{200 << 20}\n"
    sh.sh(f"mv {DATA}/db/notes {DATA}/other")
    assert sh.sh(f"cat {DATA}/other").stdout == "hello\n"
    assert not system.exists(f"{DATA}/other")


def test_a_copied_folder_is_there_for_everybody(sh):
    with_data(sh)
    assert str(sh.sh(f"cp -a {DATA} /var/lib/kept && mount --bind /var/lib/kept /mnt")) == ""
    assert sh.sh("ls /var/lib/kept/db").stdout == sh.sh("ls /mnt/db").stdout == "data.wt\nnotes\n"
    assert sh.sh("cat /mnt/db/notes; test -d /mnt/db && echo folder").stdout == "hello\nfolder\n"
    assert "/dev/nvme0n1p2 on /mnt type ext4 " in sh.sh("mount").stdout
    sh.sh("echo more >> /mnt/db/notes; umount /mnt")
    assert sh.sh("ls /mnt").stdout == ""
    assert sh.sh("cat /var/lib/kept/db/notes").stdout == "hello\nmore\n"
    assert sh.sh("mount --bind /no /mnt").stderr == "mount: /mnt: special device /no does not exist.\n"
    assert sh.sh("mount --bind /etc /no").stderr == "mount: /no: mount point does not exist.\n"


@pytest.mark.parametrize(("path", "phase"), [("/var/lib/kept/db", "Running"), ("/var/lib/none", "Pending")])
def test_the_kubelet_sees_a_copied_folder(path, phase):
    bench = NodeBench()
    bench.machine.files_at(DATA).allocate(f"{DATA}/db/data.wt", 1 << 20)
    shell(bench.machine).sh(f"cp -a {DATA} /var/lib/kept")
    volume = {"name": "v", "hostPath": {"path": path, "type": "Directory"}}
    bench.pod(spec={"volumes": [volume]}, volumeMounts=[{"name": "v", "mountPath": "/v"}])
    bench.run(30)
    assert bench.get()["status"]["phase"] == phase


def test_memory_is_a_file_system_of_its_own(sh):
    free = sh.sh("df / | tail -1").stdout
    assert "No space left on device" in sh.sh("dd if=/dev/zero of=/dev/shm/x bs=1M").stderr
    assert sh.sh("df /dev/shm/x | tail -1").stdout == "tmpfs            4194304 4194304         0 100% /dev/shm\n"
    assert sh.sh("echo hi > /dev/shm/y").stderr == "bash: line 1: echo: write error: No space left on device\n"
    assert sh.sh("fallocate -l 1M /dev/shm/z").stderr == "fallocate: fallocate failed: No space left on device\n"
    assert sh.sh("df / | tail -1").stdout == free
    assert sh.sh("ls /dev/shm; rm /dev/shm/x; df /dev/shm | tail -1").stdout.splitlines()[2].endswith("0% /dev/shm")
    assert sh.sh("df /dev/shm/x").stderr.startswith("df: /dev/shm/x: No such file or directory\n")
    sh.sh("echo hi > /dev/shm/y; echo hi > /tmp/y")
    sh.host.power.cut()
    sh.host.power.give()
    sh.host.sim.run_for(120 * SECOND)
    assert sh.sh("ls /dev/shm /tmp").stdout == "/dev/shm:\n\n/tmp:\ny\n"


def test_what_can_be_read_can_be_listed(sh):
    assert sh.sh("ls /sys/block").stdout == "nvme0n1\nsda\n"
    assert "scheduler\n" in sh.sh("ls /sys/block/sda/queue").stdout
    for path in sh.sh("find /sys/block /sys/class /proc/net /proc/sys -type f").stdout.split():
        assert sh.sh(f"cat {path} && ls {path} && stat {path}").exit_code == 0, path
    assert sh.sh("ls -l /sys/block/sda/queue/scheduler").stdout.startswith("-rw-r--r-- 1 root root 4096 ")
    assert sh.sh("ls -l /dev/sda1").stdout.startswith("brw-rw---- 1 root disk 8,   1 ")
    assert sh.sh("ls /dev").stdout == "nvme0\nnvme0n1\nnvme0n1p1\nnvme0n1p2\nsda\nsda1\nshm\n"
    assert sh.sh("rm /proc/meminfo").stderr == "rm: cannot remove '/proc/meminfo': Operation not permitted\n"


def test_looking_for_a_file_builds_no_drives(sh):
    tree = NodeTree(sh.host)
    assert tree.look("/etc/kubernetes/none") is None
    assert tree.look("/run/xtables.lock") is None
    assert tree.is_folder("/etc/kubernetes")
    assert tree.texts("/etc/chrony")[0][0] == "chrony.conf"
    assert sh.host.built_storage is None


def test_every_folder_that_is_listed_is_one(sh):
    tree = NodeTree(sh.host)
    folders = ["/"]
    while folders:
        folder = folders.pop()
        assert tree.is_folder(folder), folder
        inner = [f"{folder.rstrip('/')}/{name}" for name in tree.entries(folder)]
        assert all(tree.exists(path) for path in inner), folder
        folders += [path for path in inner if tree.is_folder(path)]
    with pytest.raises(FileError, match="No such file or directory"):
        tree.entries("/none")


def test_what_pods_write_is_on_the_node():
    bench = NodeBench()
    volumes = [{"name": "here", "emptyDir": {}}, {"name": "there", "hostPath": {"path": "/srv"}}]
    mounts = [{"name": "here", "mountPath": "/here"}, {"name": "there", "mountPath": "/there"}]
    bench.pod(spec={"volumes": volumes}, volumeMounts=mounts)
    bench.run(30)
    uid = bench.get()["metadata"]["uid"]
    container = bench.machine.runtime.newest(uid, "c")
    for place in ("here", "there"):
        bench.machine.runtime.execute(container, ("sh", "-c", f"echo {place} > /{place}/a"))
    node, kept = shell(bench.machine), f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/here"
    assert node.sh(f"cat {kept}/a /srv/a; ls {kept}").stdout == "here\nthere\na\n"
    node.sh(f"echo node > {kept}/a; rm /srv/a")
    read = bench.machine.runtime.execute(container, ("sh", "-c", "cat /here/a; ls /there")).result
    assert read.stdout == "node\n"
