"""Connection tracking: entries live on after their connections; a full table drops new ones and says so."""

from itertools import pairwise

import pytest

from simcluster.engine import SECOND, fork
from tests.clusters.onemachine import one_machine, said, start

FULL = "nf_conntrack: nf_conntrack: table full, dropping packet"


def test_the_table_is_as_large_as_kube_proxy_makes_it():
    assert one_machine().os.conntrack.maximum == 131072
    assert one_machine(cpu_cores=8).os.conntrack.maximum == 8 * 32768


def test_entries_are_open_connections_and_those_of_the_last_two_minutes():
    node = one_machine()
    server = start(node, "web")
    rest = node.os.conntrack.count
    assert node.os.connections(server, 50.0, 20.0) == (0.0, 0.0, "", "")
    node.sim.run_for(60 * SECOND)
    assert node.os.conntrack.count == pytest.approx(rest + 20 + 50 * 60 + 60, abs=2)
    node.sim.run_for(600 * SECOND)
    assert node.os.conntrack.count == pytest.approx(160 + 20 + 51 * 120, abs=2)
    assert not said(node)


def test_a_full_table_drops_what_does_not_fit_and_recovers():
    node = one_machine()
    server = start(node, "web")
    assert node.os.sysctls.set("net.netfilter.nf_conntrack_max", 3000) == ""
    node.os.connections(server, 100.0, 20.0)
    version = node.network.version
    node.sim.run_for(15 * SECOND)
    assert not said(node)
    node.sim.run_for(60 * SECOND)
    assert node.os.connections(server, 100.0, 20.0).dropped > 0.3
    assert node.os.conntrack.count == 3000
    assert node.network.version > version
    lines = said(node)
    assert lines.count(FULL) >= 10
    assert any(line.startswith("net_ratelimit: ") and line.endswith(" callbacks suppressed") for line in lines)
    assert node.os.counter("drop") == node.os.counter("insert_failed") > 100
    node.sim.run_for(600 * SECOND)
    admitted = (3000 - 180) / 120  # in the long run as many come in as go out
    assert node.os.connections(server, 100.0, 20.0).dropped == pytest.approx(1 - admitted / 101, abs=0.25)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 131072)
    assert node.os.connections(server, 100.0, 20.0).dropped == 0.0


def test_entries_that_somebody_holds_fill_the_table_without_any_traffic():
    node = one_machine()
    node.os.conntrack.hold("10.244.1.77", 131072)
    node.sim.run_for(6 * SECOND)
    assert FULL in said(node)
    listed = node.run(["conntrack", "-L"])
    assert "src=10.244.1.77" in listed.stdout
    assert "131072 flow entries have been shown." in listed.stderr
    node.os.conntrack.hold("10.244.1.77", 0)
    count = len(said(node))
    node.sim.run_for(60 * SECOND)
    assert len(said(node)) == count
    with pytest.raises(ValueError, match="-1 entries"):
        node.os.conntrack.hold("x", -1)


def test_nothing_ticks_while_the_table_is_not_full():
    node = one_machine()
    server = start(node, "web")
    pending = node.sim.pending() if hasattr(node.sim, "pending") else None
    node.os.connections(server, 10.0, 20.0)
    assert node.os._watch is None
    assert pending is None or node.sim.pending() == pending


def test_a_fork_goes_its_own_way():
    node = one_machine()
    node.os.conntrack.hold("10.244.1.77", 131072)
    other = fork(node)
    node.os.conntrack.hold("10.244.1.77", 0)
    other.sim.run_for(11 * SECOND)
    node.sim.run_for(11 * SECOND)
    assert len(said(other)) > len(said(node))


def test_a_table_that_is_nearly_full_swings_between_refusing_and_admitting():
    node = one_machine()
    server = start(node, "web")
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 3000)
    node.os.connections(server, 25.0, 20.0)  # 26 a second for 120 s, and 180 that are open: a tenth too much
    seen = []
    for _ in range(120):
        node.sim.run_for(5 * SECOND)
        seen.append(node.os.conntrack.dropped_share > 0.0)
    changes = sum(a != b for a, b in pairwise(seen))
    assert changes >= 6  # what came in before the table was full ends together two minutes later
    assert 0.02 < sum(seen) / len(seen) < 0.5
    assert FULL in said(node)


def test_flushing_empties_a_table_of_what_is_over():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 50.0, 20.0)
    node.sim.run_for(100 * SECOND)
    assert node.os.conntrack.count > 4000
    assert "has been emptied" in node.run(["conntrack", "-F"]).stderr
    assert node.os.conntrack.count == 180


def test_a_lower_limit_evicts_nobody_and_refuses_newcomers_until_the_table_has_shrunk():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 50.0, 20.0)
    node.sim.run_for(200 * SECOND)
    before = node.os.conntrack.count
    assert before == pytest.approx(180 + 51 * 120, abs=2)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 3000)
    assert node.os.conntrack.count == before
    assert node.os.connections(server, 50.0, 20.0).dropped == 1.0
    counts = []
    for _ in range(60):
        node.sim.run_for(SECOND)
        counts.append(node.os.conntrack.count)
    gone = [a - b for a, b in pairwise([before, *counts])]
    assert all(0 <= ended <= 52 for ended in gone)  # as entries come of age, 51 a second, and no faster
    assert counts[-1] == pytest.approx(before - 60 * 51, abs=60)
    assert FULL in said(node)
    node.sim.run_for(60 * SECOND)
    assert node.os.conntrack.count <= 3000


def test_an_open_connection_gets_an_entry_only_where_there_is_room():
    node = one_machine()
    node.os.conntrack.hold("10.244.1.77", 3000 - 200)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 3000)
    server = start(node, "web")
    node.os.connections(server, 0.0, 500.0)
    assert node.os.conntrack.count <= 3000
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 131072)
    node.os.connections(server, 0.0, 500.0)
    assert node.os.conntrack.count == pytest.approx(160 + 2800 + 500, abs=2)
