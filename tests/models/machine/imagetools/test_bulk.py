"""Large files that are known by their size alone."""

import pickle

import pytest

from simcluster.models.machine.imagetools.bulk import Zeros
from tests.clusters.nodes import NodeBench


def started(**resources):
    bench = NodeBench()
    bench.machine.images.preload("busybox:1.36")
    bench.run(12)
    bench.pod(image="busybox:1.36", command=["sleep", "1000"], **resources)
    bench.run(5)
    container = bench.machine.runtime.newest(bench.get()["metadata"]["uid"], "c")
    return bench, lambda *words: bench.machine.runtime.execute(container, words).result


def test_a_file_of_zeros_has_a_size_and_no_bytes():
    zeros = Zeros(1 << 40)
    assert (len(zeros), str(zeros), bool(zeros)) == (1 << 40, zeros, True)
    assert len(pickle.loads(pickle.dumps(zeros))) == 1 << 40


def test_what_containers_write_counts_against_their_limit():
    bench, run = started(resources={"limits": {"ephemeral-storage": "50Mi"}})
    done = run("dd", "if=/dev/zero", "of=/tmp/x", "bs=1M", "count=20")
    assert done.stderr.startswith("20+0 records in\n20+0 records out\n20971520 bytes (20.0MB) copied, 0.0")
    bench.run(30)
    assert bench.get()["status"]["phase"] == "Running"
    run("fallocate", "-l", "60M", "/tmp/y")
    bench.run(60)
    status = bench.get()["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"] == "Pod ephemeral local storage usage exceeds the total limit of containers 50Mi. "


def test_sizes_are_listed():
    _, run = started()
    run("truncate", "-s", "3k", "/tmp/x")
    assert "3072" in run("ls", "-l", "/tmp/x").stdout
    assert run("dd", "if=/nowhere", "of=/tmp/y").stderr == "dd: can't open '/nowhere': No such file or directory\n"


@pytest.mark.parametrize("mounted", [False, True])
def test_a_full_dev_shm_is_shown_full(mounted):
    volume = {"name": "shm", "emptyDir": {"medium": "Memory"}}
    more = (
        {"spec": {"volumes": [volume]}, "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}]} if mounted else {}
    )
    bench, run = started(resources={"limits": {"memory": "64Mi"}}, **more)
    assert run("dd", "if=/dev/zero", "of=/dev/shm/a", "bs=1M", "count=24").code == 0
    done = run("dd", "if=/dev/zero", "of=/dev/shm/b", "bs=1M")
    assert done.stderr.startswith("dd: error writing '/dev/shm/b': No space left on device\n40+0 records in\n")
    assert done.code == 1
    assert run("df", "-m", "/dev/shm").stdout.split()[-4:] == ["64", "0", "100%", "/dev/shm"]
    assert run("sh", "-c", "echo hi > /dev/shm/c").stderr.endswith("No space left on device\n")
    run("rm", "/dev/shm/b")
    assert run("df", "-m", "/dev/shm").stdout.split()[-4:] == ["24", "40", "38%", "/dev/shm"]
    if not mounted:
        shown = bench.machine.run(("df", "-m")).stdout.splitlines()
        assert next(line for line in shown if line.startswith("shm")).split()[2:5] == ["24", "40", "38%"]


def test_a_full_disk_takes_what_fits():
    bench, run = started()
    free = bench.machine.room_at("/var/lib")
    done = run("dd", "if=/dev/zero", "of=/tmp/x", "bs=1M")
    assert done.stderr.startswith("dd: error writing '/tmp/x': No space left on device\n")
    assert f" {free} " in run("ls", "-l", "/tmp/x").stdout
    assert bench.machine.room_at("/var/lib") == 0
