"""`cp` and `mv` of what a store keeps on a drive: at the speed of the drives, and its data go with the files."""

from __future__ import annotations

from simcluster.models.apps.stores.contents import Contents
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.shell.files import Layer
from simcluster.models.machine.storage import slow
from tests.clusters.onemachine import one_machine

THERE = "/var/local-path-provisioner/pvc-1"


def with_data() -> Machine:
    machine = one_machine()
    files = machine.files_at(THERE)
    assert files.allocate(f"{THERE}/db/data.wt", 200 << 20) == ""
    assert files.allocate(f"{THERE}/db/journal/1", 1 << 20) == ""
    layer = machine.volumes[THERE] = Layer()
    layer.held["/data"] = Contents("mongod", "4.4")
    return machine


def seconds(machine: Machine, *argv: str) -> float:
    done = machine.run(argv)
    assert done is not None
    assert done.delay_ns
    assert (done.stderr, done.code) == ("", 0)
    return done.delay_ns / 1e9


def test_data_are_copied_with_what_the_store_knows_of_them() -> None:
    machine = with_data()
    assert 1.0 < seconds(machine, "cp", "-a", f"{THERE}/.", "/var/lib/kept") < 5.0
    here = machine.files_at("/var/lib/kept")
    assert here.disk.name == "nvme0n1"
    assert here.size_of("/var/lib/kept/db/data.wt") == 200 << 20
    copied = machine.volumes["/var/lib/kept"].held["/data"]
    assert isinstance(copied, Contents)
    assert copied is not machine.volumes[THERE].held["/data"]
    assert machine.files_at(THERE).exists(f"{THERE}/db/data.wt")


def test_a_slow_drive_gives_its_data_slowly() -> None:
    machine = with_data()
    machine.disks["sda"].fail_slow(slow.constant(50.0))
    assert seconds(machine, "cp", "-r", THERE, "/var/lib/kept") > 40.0


def test_folders_want_a_letter_and_moving_leaves_nothing() -> None:
    machine = with_data()
    refused = machine.run(("cp", THERE, "/var/lib/kept"))
    assert refused is not None
    assert "-r not specified; omitting directory" in refused.stderr
    seconds(machine, "mv", f"{THERE}/db", "/var/lib/db")
    assert machine.files_at("/var/lib/db").exists("/var/lib/db/data.wt")
    assert not machine.files_at(THERE).exists(f"{THERE}/db/data.wt")


def test_what_cannot_be_read_is_not_copied() -> None:
    machine = with_data()
    machine.files_at(THERE).spoil(f"{THERE}/db/data.wt", 4096)
    done = machine.run(("cp", "-a", f"{THERE}/db", "/var/lib/db"))
    assert done is not None
    assert done.stderr == f"cp: error reading '{THERE}/db': Input/output error\n"
    assert done.code == 1
