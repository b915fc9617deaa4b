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
    assert node.os.counter("drop") > 100
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
    assert node.os.conntrack.count == 165


def test_a_lower_limit_evicts_nobody_and_refuses_newcomers_until_the_table_has_shrunk():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 50.0, 20.0)
    node.sim.run_for(200 * SECOND)
    before = node.os.conntrack.count
    assert before == pytest.approx(180 + 51 * 120, abs=2)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 3000)
    assert node.os.conntrack.count == before
    assert node.os.connections(server, 50.0, 20.0).dropped == pytest.approx(1.0, abs=0.005)  # look-ups may be evicted
    counts = []
    for _ in range(35):
        node.sim.run_for(SECOND)
        counts.append(node.os.conntrack.count)
    gone = [a - b for a, b in pairwise([before, *counts])]
    assert all(0 <= ended <= 52 for ended in gone)  # as entries come of age, 51 a second, and no faster
    assert counts[-1] == pytest.approx(before - 35 * 51, abs=60)
    assert FULL in said(node)
    node.sim.run_for(10 * SECOND)  # the collector has taken what is over
    assert 2850 <= node.os.conntrack.count <= 3000
    assert node.os.counter("early_drop") > 1000


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


def entries_after(seconds: int, refused_per_s: float, lost_per_s: float, **parameters: int) -> float:
    """Entries that an owner's failing attempts have after a while, beside a node's own."""
    node = one_machine()
    for name, value in parameters.items():
        assert node.os.sysctls.set(f"net.netfilter.nf_conntrack_{name}", value) == ""
    server, rest = start(node, "web"), one_machine()
    for machine in (node, rest):
        machine.sim.run_for(1)
    node.os.failing(server, refused_per_s, lost_per_s)
    for machine in (node, rest):
        machine.sim.run_for(seconds * SECOND)
    return node.os.conntrack.count - rest.os.conntrack.count


def test_an_entry_stays_for_the_timeout_of_the_state_it_ends_in():
    assert entries_after(300, 10.0, 0.0) == pytest.approx(10 * 10, abs=2)  # CLOSE
    assert entries_after(300, 0.0, 10.0) == pytest.approx(10 * 120, abs=2)  # SYN_SENT
    assert entries_after(300, 10.0, 10.0, tcp_timeout_close=40, tcp_timeout_syn_sent=20) == pytest.approx(600, abs=3)
    assert entries_after(300, 0.0, 0.0, udp_timeout=130) == pytest.approx(50, abs=1)  # a look-up every two seconds


def test_another_timeout_is_that_of_entries_that_come_later():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 50.0, 20.0)
    node.sim.run_for(200 * SECOND)
    before = node.os.conntrack.count
    node.os.sysctls.set("net.netfilter.nf_conntrack_tcp_timeout_time_wait", 10)
    assert node.os.conntrack.count == before
    node.sim.run_for(60 * SECOND)
    assert node.os.conntrack.count == pytest.approx(180 + 51 * 70, abs=2)  # the last minute of the old, ten of the new
    node.sim.run_for(60 * SECOND)
    assert node.os.conntrack.count == pytest.approx(180 + 51 * 10, abs=2)


def test_a_full_table_evicts_what_was_never_established_before_it_drops():
    def dropped(lost_per_s: float) -> tuple[float, int]:
        node = one_machine()
        server = start(node, "web")
        node.os.sysctls.set("net.netfilter.nf_conntrack_max", 10_000)
        node.os.connections(server, 150.0, 20.0)
        node.os.failing(server, 0.0, lost_per_s)
        node.sim.run_for(200 * SECOND)
        return node.os.connections(server, 150.0, 20.0).dropped, node.os.counter("early_drop")

    established, flooded = dropped(0.0), dropped(400.0)  # 550 a second for 120 s are six times what fits
    assert established[0] > 0.2
    assert flooded[1] > 20 * established[1] > 0
    stats = one_machine().run(["conntrack", "-S"]).stdout
    assert stats.count("insert_failed=0") == stats.count("early_drop=0") == 4
    # Without eviction only what ends makes room: 10,000 less 195 in 120 s.
    assert flooded[0] < 1.0 - (10_000 - 195) / 120 / 551 - 0.1


def test_the_collector_takes_what_is_over_when_a_table_is_nearly_full():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 40.0, 20.0)
    node.sim.run_for(150 * SECOND)
    full = node.os.conntrack.count
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", int(full / 0.98))
    node.sim.run_for(60 * SECOND)
    taken = node.os.counter("early_drop")
    assert taken == pytest.approx(full - 0.95 * full / 0.98, abs=5)
    assert not said(node)
    node.os.sysctls.set("net.netfilter.nf_conntrack_max", 131072)
    node.sim.run_for(120 * SECOND)
    assert node.os.counter("early_drop") == taken


def test_what_is_idle_for_longer_than_its_timeout_has_no_entry():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 0.0, 3000.0)
    assert node.os.conntrack.count > 3000
    node.os.sysctls.set("net.netfilter.nf_conntrack_tcp_timeout_established", 5)
    assert node.os.conntrack.count == pytest.approx((3000 + 145) / 3 + 15, abs=2)


def test_a_list_shows_entries_of_every_state():
    node = one_machine()
    server = start(node, "web")
    node.os.connections(server, 20.0, 200.0)
    node.os.failing(server, 30.0, 5.0)
    node.sim.run_for(200 * SECOND)
    for state, mark in (("ESTABLISHED", "[ASSURED]"), ("TIME_WAIT", "[ASSURED]"), ("SYN_SENT", "[UNREPLIED]")):
        lines = node.run(["conntrack", "-L", "-p", "tcp", "--state", state]).stdout.splitlines()
        assert lines
        assert all(f" {state} " in line and mark in line for line in lines)
    assert "ASSURED" not in node.run(["conntrack", "-L", "--state", "CLOSE"]).stdout
    lookups = node.run(["conntrack", "-L", "-p", "udp"])
    assert all(line.startswith("udp      17 ") and " dport=53 " in line for line in lookups.stdout.splitlines())
    assert "flow entries have been shown" in lookups.stderr
