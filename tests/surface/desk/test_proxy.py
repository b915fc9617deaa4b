"""`kubectl proxy` at the desk: what comes to its port is asked of the API server, as the operator."""

from __future__ import annotations

import simcluster


def test_a_proxy_carries_requests_until_it_is_killed() -> None:
    box = simcluster.sandbox(nodes=1)
    box.kubectl("create deployment web --image=nginx:1.27")
    box.kubectl("expose deployment web --port=80")
    box.wait("20s")
    assert box.sh("kubectl proxy &").stdout == "Starting to serve on 127.0.0.1:8001\n"
    assert box.sh("curl -s localhost:8001/version | jq -r .major").stdout == "1\n"
    assert "Welcome to nginx!" in box.sh("curl -s localhost:8001/api/v1/namespaces/default/services/web/proxy/").stdout
    assert box.sh("curl -so /dev/null -w '%{http_code}' localhost:8001/apis/nope/v1").stdout == "404"
    assert box.sh("curl -s localhost:8001/api/v1/namespaces/default/pods/x/exec").stdout == "Forbidden"
    made = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"made"}}'
    line = (
        f"curl -s -H 'Content-Type: application/json' -d '{made}' localhost:8001/api/v1/namespaces/default/configmaps"
    )
    assert '"name": "made"' in box.sh(line).stdout
    assert box.kubectl("get configmap made -o name").stdout == "configmap/made\n"
    assert "address already in use" in box.sh("kubectl proxy").stderr
    assert box.sh("pkill -f 'kubectl proxy'; curl -s localhost:8001/; echo $?").stdout == "7\n"


def test_a_job_has_its_text_and_a_number() -> None:
    box = simcluster.sandbox(nodes=1)
    said = box.sh(
        "kubectl proxy -p 0 & sleep 1; jobs; curl -s localhost:32768/livez; kill %1; curl -s localhost:32768; echo $?"
    )
    assert (
        said.stdout == "Starting to serve on 127.0.0.1:32768\n[1]+  Running                 kubectl proxy -p 0 &\nok7\n"
    )
