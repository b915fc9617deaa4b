"""ingress-nginx in a cluster: routes, statuses, events, logs, users, and what breaks it."""

import re

import pytest
import yaml

from simcluster.engine import SECOND
from simcluster.models.machine.certificate import authority, issued
from simcluster.world import World

SHOP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: acme/web, ports: [{containerPort: 8080, name: http}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: main, port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  ingressClassName: nginx
  rules:
    - host: shop.example.com
      http:
        paths:
          - {path: /, pathType: Prefix, backend: {service: {name: web, port: {name: main}}}}
          - {path: /nobody, pathType: Exact, backend: {service: {name: nobody, port: {number: 80}}}}
          - {path: /missing, pathType: Prefix, backend: {service: {name: missing, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: secure}
spec:
  ingressClassName: nginx
  tls: [{hosts: [secure.example.com], secretName: secure-tls}]
  rules:
    - host: secure.example.com
      http: {paths: [{path: /, pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: other}
spec:
  ingressClassName: traefik
  rules:
    - host: other.example.com
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  containers: [{name: c, image: "curlimages/curl:8.11.1", command: [sleep, infinity]}]
"""
ENTRY = "ingress-nginx-controller.ingress-nginx"


@pytest.fixture(scope="module")
def booted():
    world = World(0, workers=2)
    world.deploy("ingress-nginx", "ingress-nginx")
    world.apply(SHOP)
    world.run_for(45 * SECOND)
    return world


@pytest.fixture
def world(booted):
    return booted.fork()


def ask(world, path="/", host="shop.example.com", entry=f"http://{ENTRY}"):
    command = f"curl -s -o /dev/null -w %{{http_code}} -m 5 -H 'Host: {host}' {entry}{path}"
    return world.kubectl().run(f'exec client -- sh -c "{command}"').stdout


def logs(world):
    return world.kubectl().run("logs -n ingress-nginx deploy/ingress-nginx-controller --tail=-1").stdout


def ingress(world, name="shop"):
    return world.api.store.get("ingresses.networking.k8s.io", "default", name)


def test_routes_by_host_and_path(world):
    assert ask(world) == ask(world, "/cart?id=1") == "200"
    assert ask(world, host="elsewhere.org") == "404"
    assert ask(world, host="other.example.com") == "404"  # of another class
    assert ask(world, "/nobody") == ask(world, "/missing/x") == "503"
    assert ask(world, "/nobody/x") == "200"  # Exact
    assert ask(world, host="secure.example.com") == "308"
    assert (
        ask(world, host="secure.example.com", entry=f"https://{ENTRY}") == "000"
    )  # its certificate is the default one
    assert ask(world, host="secure.example.com", entry=f"-k https://{ENTRY}") == "200"
    service = world.api.store.get("services", "ingress-nginx", "ingress-nginx-controller")
    port = service["spec"]["ports"][0]["nodePort"]
    assert ask(world, entry=f"http://{world.machines['worker-2'].address}:{port}") == "200"


def test_it_reports_and_explains(world):
    addresses = {m.address for m in world.machines.values()}
    (entry,) = ingress(world)["status"]["loadBalancer"]["ingress"]
    assert entry["ip"] in addresses
    assert "loadBalancer" not in ingress(world, "other").get("status", {}) or not ingress(world, "other")["status"][
        "loadBalancer"
    ].get("ingress")
    events = world.kubectl().run("describe ingress shop").stdout
    assert re.search(r"Normal\s+Sync\s+.*nginx-ingress-controller\s+Scheduled for sync", events)
    said = logs(world)
    assert 'Service "default/nobody" does not have any active Endpoint.' in said
    assert 'Error obtaining Endpoints for Service "default/missing": no object matching key "default/missing"' in said
    assert (
        'Error getting SSL certificate "default/secure-tls": local SSL certificate default/secure-tls was not' in said
    )
    assert 'ingress="default/other" error="ingress does not contain a valid IngressClass"' in said
    assert "successfully acquired lease ingress-nginx/ingress-nginx-leader" in said


def counted(world):
    """What the controller's port shows, by family: name and labels of each series."""
    command = 'exec client -- sh -c "curl -s -m 5 http://{}:10254/metrics"'
    (pod,) = world.api.store.objects("pods", "ingress-nginx")
    shown = world.kubectl().run(command.format(pod["status"]["podIP"])).stdout
    return dict(re.findall(r"^(nginx_\S+?(?:{.*})?) (\S+)$", shown, re.M))


def test_its_metrics_count_what_the_log_tells(world):
    mix = {"shop.example.com/": 3, "shop.example.com/nobody": 1, "elsewhere.org/": 1}
    world.add_users("ingress-nginx", "ingress-nginx-controller", 50, mix=mix)
    world.run_for(20 * SECOND)
    written, seen = logs(world), counted(world)
    by_ingress = {
        key: float(value) for key, value in seen.items() if key.startswith("nginx_ingress_controller_requests")
    }
    assert len(by_ingress) == 2
    for path, status, service in (("/", 200, "web"), ("/nobody", 503, "nobody")):
        wanted = (
            f'host="shop.example.com",ingress="shop",method="GET",namespace="default",path="{path}",service="{service}"'
        )
        (count,) = [value for key, value in by_ingress.items() if wanted in key and f'status="{status}"' in key]
        lines = len(re.findall(rf'"GET {path} HTTP/1.1" {status} ', written))
        assert abs(count - lines) < 30
        assert lines > 100
    whole = [float(v) for k, v in seen.items() if "duration_seconds_bucket" in k and 'le="+Inf"' in k]
    assert sorted(whole) == sorted(by_ingress.values())
    assert seen[next(key for key in seen if key.startswith("nginx_ingress_controller_success"))] == "1"


def test_users_enter_by_host_and_path(world):
    users = world.add_users(
        "ingress-nginx", "ingress-nginx-controller", 50, mix={"shop.example.com/": 3, "shop.example.com/cart": 1}
    )
    world.run_for(20 * SECOND)
    seen = users.window(world.now - 10 * SECOND, world.now)
    assert seen.sent > 400
    assert seen.success_ratio > 0.99
    line = re.compile(
        r'203\.0\.113\.\d+ - - \[02/Mar/2026:\d\d:\d\d:\d\d \+0000\] "GET /cart HTTP/1.1" 200 \d+ '
        r'"-" "Mozilla[^"]*" \d+ '
        r"\d\.\d{3} \[default-web-main\] \[\] 10\.244\.\d+\.\d+:8080 \d+ \d\.\d{3} 200 [0-9a-f]{32}"
    )
    assert line.search(logs(world))
    world.kubectl().run("delete endpointslice -l kubernetes.io/service-name=web")  # comes back by itself
    world.kubectl().run("scale deployment web --replicas=0")
    world.run_for(20 * SECOND)
    seen = users.window(world.now - 5 * SECOND, world.now)
    assert seen.success_ratio == 0.0
    assert re.search(r'"GET / HTTP/1.1" 503 ', logs(world))


def test_unknown_hosts_fail(world):
    users = world.add_users("ingress-nginx", "ingress-nginx-controller", 20, mix={"elsewhere.org/": 1})
    world.run_for(10 * SECOND)
    assert users.window(world.now - 5 * SECOND, world.now).success_ratio == 0.0


def test_a_wrong_backend_is_noticed_and_mended(world):
    patch = """'[{"op":"replace","path":"/spec/rules/0/http/paths/0/backend/service/name","value":"nobody"},"""
    patch += """{"op":"replace","path":"/spec/rules/0/http/paths/0/backend/service/port","value":{"number":80}}]'"""
    assert world.kubectl().run(f"patch ingress shop --type=json -p {patch}").exit_code == 0
    world.run_for(8 * SECOND)
    assert ask(world) == "503"
    world.apply(SHOP)
    world.run_for(8 * SECOND)
    assert ask(world) == "200"


def test_new_endpoints_need_no_kube_proxy(world):
    world.kubectl().run("scale deployment web --replicas=4")
    world.run_for(20 * SECOND)
    (container,) = [
        c for m in world.machines.values() for c in m.runtime.containers() if c.spec.name == "controller" and c.running
    ]
    endpoints = container.program.inner.configuration.upstreams["default-web-main"].endpoints
    assert len(endpoints) == 4
    assert all(port == 8080 for _, port in endpoints)


def test_without_its_controller_the_connection_is_refused(world):
    users = world.add_users("ingress-nginx", "ingress-nginx-controller", 20, mix={"shop.example.com/": 1})
    world.kubectl().run("scale deployment ingress-nginx-controller -n ingress-nginx --replicas=0")
    world.run_for(30 * SECOND)
    assert ask(world) == "000"
    assert users.window(world.now - 5 * SECOND, world.now).errors.keys() == {"refused"}
    assert not ingress(world)["status"]["loadBalancer"].get("ingress")
    assert not world.network.pools
    world.kubectl().run("scale deployment ingress-nginx-controller -n ingress-nginx --replicas=1")
    world.run_for(40 * SECOND)
    assert ask(world) == "200"


def test_without_permission_it_does_not_serve(world):
    world.kubectl().run("delete clusterrolebinding ingress-nginx")
    world.kubectl().run("delete pod -n ingress-nginx --all")
    world.run_for(60 * SECOND)
    said = logs(world)
    assert 'cannot list resource "ingresses" in API group "networking.k8s.io" at the cluster scope' in said
    assert ask(world) == "000"


def test_service_types(world):
    world.kubectl().run("expose deployment web --name=balanced --type=LoadBalancer --port=80 --target-port=8080")
    world.network.outside["api.example.com"] = "93.184.216.34"
    world.apply(
        "apiVersion: v1\nkind: Service\nmetadata: {name: outer}\n"
        "spec: {type: ExternalName, externalName: web.default.svc.cluster.local}\n"
    )
    world.run_for(5 * SECOND)
    assert re.search(r"balanced +LoadBalancer +\S+ +<pending> +80:\d+/TCP", world.kubectl().run("get svc").stdout)
    assert ask(world, entry="http://outer") == "200"  # a name for another name
    balanced = world.api.store.get("services", "default", "balanced")
    port = balanced["spec"]["ports"][0]["nodePort"]
    assert ask(world, entry=f"http://{world.machines['control-plane'].address}:{port}") == "200"
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "198.51.100.7"}]}}}
    client = world.client("kubernetes-admin", "cloud-controller-manager")
    client.patch("services", "default", "balanced", status, kind="merge", subresource="status")
    world.run_for(5 * SECOND)
    assert ask(world, entry="http://198.51.100.7") == "200"
    users = world.add_users("default", "balanced", 10)
    world.run_for(10 * SECOND)
    assert users.window(world.now - 5 * SECOND, world.now).success_ratio > 0.99


def test_copies_live_alike_and_a_look_changes_nothing(world):
    twin = world.fork()
    for each in (world, twin):
        each.add_users("ingress-nginx", "ingress-nginx-controller", 30, mix={"shop.example.com/": 1})
        each.kubectl().run("scale deployment web --replicas=1")
        each.run_for(5 * SECOND)
        if each is twin:
            assert logs(each) == logs(each)
        each.run_for(20 * SECOND)
    assert world.sim.digest.hex() == twin.sim.digest.hex()
    assert logs(world) == logs(twin)


def test_nginx_says_why_an_endpoint_did_not_answer(world):
    world.add_users("ingress-nginx", "ingress-nginx-controller", 20, mix={"shop.example.com/": 1})
    wrong = """'{"spec":{"ports":[{"name":"main","port":80,"targetPort":9999}]}}'"""
    assert world.kubectl().run(f"patch service web -p {wrong}").exit_code == 0
    world.run_for(20 * SECOND)
    said = logs(world).splitlines()
    failed = [line for line in said if "[error]" in line]
    assert re.fullmatch(
        r"2026/03/02 09:\d\d:\d\d \[error\] 29#29: \*\d+ connect\(\) failed \(111: Connection refused\) "
        r"while connecting to upstream, client: 203\.0\.113\.\d+, server: shop\.example\.com, "
        r'request: "GET / HTTP/1\.1", '
        r'upstream: "http://10\.244\.\d+\.\d+:9999/", host: "shop\.example\.com"',
        failed[-1],
    )
    refused = [line for line in said if '"GET / HTTP/1.1" 502 ' in line]
    assert len(failed) == len(refused) > 20
    assert "" not in said


def test_users_over_tls_refuse_what_is_out_of_date(world):
    users = world.traffic.add_users(
        "people", "ingress-nginx", ENTRY.partition(".")[0], 443, rps=20, mix={"secure.example.com/": 1.0}, tls=True
    )

    def share(seconds=10):
        world.run_for(seconds * SECOND)
        return users.window(world.sim.now - 5 * SECOND, world.sim.now).success_ratio

    def renewed(names, until_ns):
        made = issued(authority("CA", "k"), names, not_after_ns=until_ns)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "secure-tls"}, "type": "kubernetes.io/tls",
                  "stringData": {"tls.crt": made.pem(), "tls.key": "key"}}  # fmt: skip
        world.apply(yaml.safe_dump(secret))

    assert share() == 0.0  # the controller's own certificate
    renewed(("secure.example.com",), world.sim.now + 40 * SECOND)
    assert share(15) == 1.0
    assert share(45) == 0.0  # it has expired meanwhile
    assert set(users.window(world.sim.now - 5 * SECOND, world.sim.now).errors) == {"protocol"}
    refused = world.kubectl().run(f"exec client -- curl -s -S -H 'Host: secure.example.com' https://{ENTRY}/")
    assert "SSL certificate problem: certificate has expired" in refused.stderr
    renewed(("elsewhere.org",), world.sim.now + 4000 * SECOND)
    assert share(15) == 0.0
    renewed(("secure.example.com",), world.sim.now + 4000 * SECOND)
    assert share(15) == 1.0
