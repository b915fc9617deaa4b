"""What the log plugin writes of questions and answers."""

import re

import pytest

from simcluster.control.clusterdns.coredns import CoreDns
from simcluster.control.clusterdns.corefile import parse_corefile
from simcluster.engine import Simulation
from simcluster.models.machine.network import Network

TEXT = ".:53 {\n kubernetes cluster.local\n forward . /etc/resolv.conf\n %s\n}\n"


class Inner:
    def listens_on(self, port):
        return True


class Spec:
    command = ()
    args = ("-conf", "/etc/coredns/Corefile")


class Box:
    spec = Spec()
    container_id = "c1"

    def __init__(self):
        self.sim = Simulation(0)
        self.lines = []

    def write(self, text, stream="stdout"):
        self.lines.append(text)


@pytest.fixture
def server():
    network = Network()
    network.set_name("web.shop.svc.cluster.local", "10.96.0.20")
    return CoreDns(Box(), Inner(), network)


def ask(server, plugin, name):
    server.blocks = parse_corefile(TEXT % plugin)
    server.asked_by("10.244.1.7").query(name)
    return server.container.lines


def test_both_questions_of_a_look_up_are_written(server):
    first, second = ask(server, "log", "web.shop.svc.cluster.local")
    line = (
        r'\[INFO\] 10\.244\.1\.7:\d+ - \d+ "A IN web\.shop\.svc\.cluster\.local\. udp 44 false 512" '
        r"NOERROR qr,aa,rd 86 0\.\d{9}s"
    )
    assert re.fullmatch(line, first)
    assert '"AAAA IN web.shop.svc.cluster.local. udp 44 false 512" NOERROR qr,aa,rd 137 ' in second


def test_classes_and_names_choose_what_is_written(server):
    assert ask(server, "log . {\n class denial\n }", "web.shop.svc.cluster.local") == []
    assert ask(server, "log example.org", "nobody.example.com") == []
    assert (
        '"A IN no.shop.svc.cluster.local. udp 43 false 512" NXDOMAIN qr,aa,rd 136 '
        in ask(server, "log . {\n class denial\n }", "no.shop.svc.cluster.local")[0]
    )


def test_without_the_plugin_nothing_is_written(server):
    assert ask(server, "errors", "nobody.example.com") == []
