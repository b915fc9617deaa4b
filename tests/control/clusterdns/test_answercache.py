"""CoreDNS' cache and loop plugins, and the names of pods."""

import pytest

from simcluster.control.clusterdns.coredns import CoreDns
from simcluster.control.clusterdns.corefile import parse_corefile
from simcluster.engine import SECOND, Simulation
from simcluster.models.machine.network import Network

WEB = "web.shop.svc.cluster.local"
COREFILE = """.:53 {
    kubernetes cluster.local {
       pods %s
       ttl 30
    }
    forward . %s
    %s
}
"""


class Inner:
    def listens_on(self, port):
        return True


class Spec:
    command = ()
    args = ()


class Sandbox:
    address = "10.244.0.9"
    namespace = "kube-system"


class Box:
    spec = Spec()
    sandbox = Sandbox()
    container_id = "c" * 64
    running = True

    def __init__(self):
        self.sim = Simulation(0)
        self.lines = []

    def write(self, text, stream="stdout"):
        self.lines.append(text)

    def exit(self, code):
        self.running = False


@pytest.fixture
def box():
    return Box()


def serve(box, *, cache="", pods="insecure", upstream="/etc/resolv.conf"):
    network = Network()
    network.dns = "10.96.0.10"
    program = CoreDns(box, Inner(), network)
    program.blocks = parse_corefile(COREFILE % (pods, upstream, cache))
    program._cache.sim = box.sim
    return program


def test_a_denial_is_given_again_until_its_time_is_over(box):
    server = serve(box, cache="cache 30")
    assert server.query(WEB).code == "NXDOMAIN"
    server.network.set_name(WEB, "10.96.0.20")
    box.sim.run_for(29 * SECOND)
    assert server.query(WEB).code == "NXDOMAIN"
    version = server.network.version
    box.sim.run_for(2 * SECOND)
    assert server.network.version > version  # who looks names up is told
    assert server.query(WEB).addresses == ("10.96.0.20",)


@pytest.mark.parametrize("cache", ["", "cache 30 {\n disable denial cluster.local\n }", "cache 30 example.com"])
def test_names_that_are_not_cached(box, cache):
    server = serve(box, cache=cache)
    assert server.query(WEB).code == "NXDOMAIN"
    server.network.set_name(WEB, "10.96.0.20")
    assert server.query(WEB).addresses == ("10.96.0.20",)


@pytest.mark.parametrize(("pods", "found"), [("insecure", ("1.2.3.4",)), ("disabled", ()), ("verified", ())])
def test_names_of_pods(box, pods, found):
    assert serve(box, pods=pods).query("1-2-3-4.shop.pod.cluster.local").addresses == found


def test_a_server_that_forwards_to_its_own_service_ends(box):
    server = serve(box, cache="loop", upstream="10.96.0.10")
    server._look_for_loop()
    assert not box.running
    assert box.lines[0].startswith("[FATAL] plugin/loop: Loop (127.0.0.1:")
    assert 'detected for zone "."' in box.lines[0]
    fine = serve(Box(), cache="loop")
    fine._look_for_loop()
    assert fine.container.running


def test_an_upstream_that_is_silent_is_in_the_log(box):
    server = serve(box, cache="errors", upstream="10.9.9.9")
    assert server.query("api.example.com").code == "SERVFAIL"
    (line,) = box.lines
    assert line.startswith("[ERROR] plugin/errors: 2 api.example.com. A: read udp 10.244.0.9:")
    assert line.endswith("->10.9.9.9:53: i/o timeout")
