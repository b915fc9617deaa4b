"""iptables as it is typed: numbered rules, options that nobody knows, and tables that are the proxy's own."""

from __future__ import annotations

import simcluster


def test_rules_are_numbered_and_mistakes_named_as_they_were_typed() -> None:
    shell = simcluster.sandbox(nodes=1, seed=1).node("worker-1").sh
    listed = shell("iptables -A FORWARD -s 10.0.0.1 -j DROP; iptables -nL FORWARD --line-numbers").stdout.splitlines()
    assert listed[1].startswith("num  target     prot opt source")
    assert listed[2].split() == ["1", "DROP", "0", "--", "10.0.0.1", "0.0.0.0/0"]
    assert 'unknown option "-Q"' in shell("iptables -Q").stderr
    assert ":KUBE-SERVICES - [0:0]" in shell("iptables-save -t filter").stdout
    refused = shell("iptables -t nat -A PREROUTING -p tcp --dport 80 -j DROP")
    assert (refused.exit_code, "RULE_APPEND failed" in refused.stderr) == (4, True)
