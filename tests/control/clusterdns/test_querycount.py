"""What CoreDNS counts of the questions that it is asked."""

from __future__ import annotations

import struct

import pytest

from simcluster.control.clusterdns.coredns import CoreDns
from simcluster.control.clusterdns.corefile import parse_corefile
from simcluster.engine import SECOND
from simcluster.models.machine.network import Network
from simcluster.models.machine.process import Call
from tests.control.clusterdns.test_querylog import Box, Inner

COREFILE = ".:53 {\n kubernetes cluster.local\n forward . 9.9.9.9\n cache 30\n loadbalance\n prometheus :9153\n}\n"


@pytest.fixture
def server() -> CoreDns:
    network = Network()
    network.set_name("web.shop.svc.cluster.local", "10.96.0.20")
    network.outside["example.org"] = "192.0.2.1"
    made = CoreDns(Box(), Inner(), network)
    made.container.started_ns = 0
    made.blocks = parse_corefile(COREFILE)
    made._cache.sim = made.container.sim
    return made


def shown(server: CoreDns) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for group, row in server.exposition(Call("http", 9153, "/metrics")).items():
        numbers = struct.unpack(f"={len(group.columns)}d", row)
        for (name, own), value in zip(group.columns.series, numbers, strict=True):
            found.setdefault(name, {})[tuple(sorted((*group.labels, *own)))] = value
    return found


def total(found: dict[tuple[tuple[str, str], ...], float], **wanted: str) -> float:
    return sum(value for key, value in found.items() if wanted.items() <= dict(key).items())  # integers


def test_questions_answers_and_the_cache_are_counted(server: CoreDns) -> None:
    for name in ("web.shop.svc.cluster.local", "web.shop.svc.cluster.local", "no.cluster.local", "example.org"):
        server.query(name)
    found = shown(server)
    assert total(found["coredns_dns_requests_total"], type="A", proto="udp", family="1", zone=".") == 4
    assert total(found["coredns_dns_requests_total"], type="AAAA", server="dns://:53") == 4
    assert total(found["coredns_dns_responses_total"], rcode="NXDOMAIN", plugin="loadbalance") == 2
    assert total(found["coredns_cache_requests_total"]) == 8
    assert total(found["coredns_cache_hits_total"], type="success", zones=".") == 2
    assert total(found["coredns_cache_misses_total"]) == 6
    assert total(found["coredns_cache_entries"], type="success") == 2
    durations = found["coredns_dns_request_duration_seconds_bucket"]
    assert total(durations, le="+Inf") == 8
    assert total(durations, le="0.00025") < total(durations, le="0.0005") < 8
    assert total(found["coredns_proxy_request_duration_seconds_count"], to="9.9.9.9:53", proxy_name="forward") == 2


def test_what_is_old_is_forgotten_and_the_counts_stay(server: CoreDns) -> None:
    server.query("web.shop.svc.cluster.local")
    server.container.sim.run_for(40 * SECOND)
    found = shown(server)
    assert total(found["coredns_cache_entries"]) == 0
    assert total(found["coredns_dns_requests_total"]) == 2
