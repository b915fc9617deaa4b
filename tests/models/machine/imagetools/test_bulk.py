"""Large files that are known by their size alone."""

import pickle

from simcluster.models.machine.imagetools.bulk import Zeros
from simcluster.testing.nodes import NodeBench


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
    assert status["message"] == 'Container c exceeded its local ephemeral storage limit "50Mi". '


def test_sizes_are_listed():
    _, run = started()
    run("truncate", "-s", "3k", "/tmp/x")
    assert "3072" in run("ls", "-l", "/tmp/x").stdout
    assert run("dd", "if=/nowhere", "of=/tmp/y").stderr == "dd: can't open '/nowhere': No such file or directory\n"
