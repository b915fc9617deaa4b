"""Certificates as `openssl` shows them, by the clock of the machine."""

from __future__ import annotations

from simcluster.engine.clock import DAY
from simcluster.models.machine.imagetools import execute
from tests.clusters.onemachine import one_machine, start

MAKE = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=a.org -addext subjectAltName=DNS:a.org,DNS:b.org"


def test_a_certificate_is_made_shown_and_verified_by_the_nodes_clock() -> None:
    node = one_machine()
    server = start(node, "web")

    def run(line: str):
        return execute.run(server, ("sh", "-c", line))

    assert run(f"{MAKE} -keyout /k.pem -out /c.pem").code == 0
    assert run("openssl verify -CAfile /c.pem /c.pem").stdout == "/c.pem: OK\n"
    shown = run("openssl x509 -in /c.pem -noout -subject -enddate -checkend 86400").stdout
    assert shown == "subject=CN = a.org\nnotAfter=Mar  4 09:00:00 2026 GMT\nCertificate will not expire\n"
    assert "DNS:a.org, DNS:b.org" in run("openssl x509 -in /c.pem -noout -text").stdout
    assert run("openssl x509 -in /c.pem -checkend 999999 -noout").code == 1
    assert node.run(["date", "-s", "+30 days"]).code == 0
    expired = run("openssl verify -CAfile /c.pem /c.pem")
    assert (expired.code, expired.stdout) == (2, "")
    assert "error 10 at 0 depth lookup: certificate has expired" in expired.stderr
    node.os.clock.step(-2 * DAY)
    assert "certificate is not yet valid" in run("openssl verify -CAfile /c.pem /c.pem").stderr
    assert "No such file" in run("openssl x509 -in /none -noout -dates").stderr


def test_a_node_has_it_too() -> None:
    node = one_machine()
    assert node.run([*MAKE.split(), "-keyout", "/root/k.pem", "-out", "/root/c.pem"]).code == 0
    assert node.run(["openssl", "verify", "-CAfile", "/root/c.pem", "/root/c.pem"]).stdout == "/root/c.pem: OK\n"
    assert node.run(["date", "-d", "2 hours ago", "+%H"]).stdout == "07\n"
