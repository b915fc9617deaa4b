"""Corefiles: what is read, what is refused, and how the plugins answer."""

import pytest

from simcluster.control.clusterdns.coredns import CoreDns
from simcluster.control.clusterdns.corefile import CorefileError, parse_corefile
from simcluster.models.machine.names import NameAnswer
from simcluster.models.machine.network import Network

DEFAULT = """.:53 {
    errors
    health {
       lameduck 5s
    }
    kubernetes cluster.local in-addr.arpa {
       pods insecure
       fallthrough in-addr.arpa
    }
    %s
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
}
"""


class Inner:
    def listens_on(self, port):
        return True


class Spec:
    command = ()
    args = ("-conf", "/etc/coredns/Corefile")


class Box:
    spec = Spec()


@pytest.fixture
def server():
    network = Network()
    network.set_name("web.shop.svc.cluster.local", "10.96.0.20")
    network.set_names("db.shop.svc.cluster.local", ("10.244.0.2", "10.244.0.3"))
    network.set_alias("outer.shop.svc.cluster.local", "api.example.com.")
    network.outside["api.example.com"] = "93.184.216.34"
    program = CoreDns(Box(), Inner(), network)
    program.blocks = parse_corefile(DEFAULT % "")
    return program


def configure(server, extra, text=DEFAULT):
    server.blocks = parse_corefile(text % extra)


def test_services_headless_services_and_aliases(server):
    assert server.query("web.shop.svc.cluster.local") == NameAnswer("NOERROR", ("10.96.0.20",))
    assert server.query("db.shop.svc.cluster.local").addresses == ("10.244.0.2", "10.244.0.3")
    assert server.query("outer.shop.svc.cluster.local").addresses == ("93.184.216.34",)
    assert server.query("nothing.shop.svc.cluster.local").code == "NXDOMAIN"
    assert server.query("api.example.com").addresses == ("93.184.216.34",)
    assert server.query("nobody.example.com").code == "NXDOMAIN"


def test_a_template_hides_a_name(server):
    configure(
        server,
        'template ANY ANY cluster.local {\n match "^web\\.shop\\.svc\\.cluster\\.local\\.$"\n rcode NXDOMAIN\n'
        " fallthrough\n}",
    )
    assert server.query("web.shop.svc.cluster.local").code == "NXDOMAIN"
    assert server.query("db.shop.svc.cluster.local").code == "NOERROR"


def test_hosts_and_rewrites(server):
    configure(server, "hosts {\n 1.2.3.4 old.example.com\n fallthrough\n}\nrewrite name a.b web.shop.svc.cluster.local")
    assert server.query("old.example.com").addresses == ("1.2.3.4",)
    assert server.query("a.b").addresses == ("10.96.0.20",)


def test_templates_with_fields_and_aliases(server):
    configure(
        server,
        "template IN A example.org {\n match ^ip-(?P<a>[0-9]+)-(?P<b>[0-9]+)\\.example\\.org\\.$\n"
        ' answer "{{ .Name }} 60 IN A 10.0.{{ .Group.a }}.{{ index .Match 2 }}"\n fallthrough\n}\n'
        'template IN A shop.test {\n answer "{{ .Name }} 60 IN CNAME web.shop.svc.cluster.local."\n}',
    )
    assert server.query("ip-3-4.example.org").addresses == ("10.0.3.4",)
    assert server.query("www.shop.test").addresses == ("10.96.0.20",)
    assert server.query("other.example.org").code == "NXDOMAIN"


def test_zones_without_forwarder_fail(server):
    server.blocks = parse_corefile(".:53 {\n kubernetes other.local\n}\n")
    assert server.query("web.shop.svc.cluster.local").code == "SERVFAIL"
    server.blocks = parse_corefile("example.com:53 {\n forward . 8.8.8.8\n}\n")
    assert server.query("web.shop.svc.cluster.local").code == "REFUSED"
    assert server.query("api.example.com").code == "NOERROR"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".:53 {\n kubernets cluster.local\n}\n", ":2 - Error during parsing: Unknown directive 'kubernets'"),
        (".:53 {\n errors\n", ":3 - Error during parsing: Unexpected EOF"),
        (".:53 {\n forward .\n}\n", "Wrong argument count or unexpected line ending after '.'"),
        (".:53 {\n kubernetes cluster.local {\n  podz insecure\n }\n}\n", "unknown property 'podz'"),
    ],
)
def test_mistakes(text, message):
    with pytest.raises(CorefileError) as caught:
        parse_corefile(text)
    assert message in str(caught.value)
