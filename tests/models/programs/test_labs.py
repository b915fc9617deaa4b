"""Pods that go wrong, or well, for the reasons of which exercises in troubleshooting are made."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import simcluster
from simcluster.models.programs.python import served, to_shell

CONFIGURATION = {
    "good.conf": 'server { listen 8081; location / { return 200 "hi $hostname\\n"; } location /api/ '
    "{ proxy_pass http://echo:80/; } location = /old { return 301 /new; } location /gone/ "
    "{ proxy_pass http://nobody:80; } location ~ \\.txt$ { root /pages; } }\n",
    "bad.conf": "server {\n  listen 80\n  location / { root /x; }\n}\n",
    "typo.conf": "server {\n  listne 80;\n}\n",
    "serve.py": "import os\nfrom http.server import *\nPORT = int(os.environ['PORT'])\nNAME = os.getenv('NAME', '')\n"
    "class H(BaseHTTPRequestHandler):\n  def do_GET(self):\n    self.send_response(200)\n    self.end_headers()\n"
    "    self.wfile.write(f'hello {NAME}'.encode())\nHTTPServer(('', PORT), H).serve_forever()\n",
    "nowhere.conf": "upstream b { server api-svc:8080; }\nserver { listen 80; location / { proxy_pass http://b; } }\n",
}
NGINX = {"image": "nginx:1.27"}


def conf(key: str) -> dict[str, Any]:
    items = [{"key": key, "path": "default.conf"}]
    volume = {"name": "v", "configMap": {"name": "conf", "items": items}}
    mount = {"name": "v", "mountPath": "/etc/nginx/conf.d"}
    return {"spec": {"volumes": [volume]}, **NGINX, "volumeMounts": [mount]}


def script(text: str) -> dict[str, Any]:
    return {"image": "python:3.12-slim", "command": ["python", "-c", text]}


def configured_server(variables: dict[str, str]) -> dict[str, Any]:
    """A server whose file is of a ConfigMap, and whose variables say where it listens and what it answers."""
    env = [{"name": name, "value": value} for name, value in variables.items()]
    volume, mount = {"name": "app", "configMap": {"name": "conf"}}, {"name": "app", "mountPath": "/app"}
    container = {"image": "python:3.12", "command": ["python", "-u", "/app/serve.py"], "env": env}
    return {"spec": {"volumes": [volume]}, **container, "volumeMounts": [mount]}


EMPTY = [{"name": "cache", "emptyDir": {}}, {"name": "run", "emptyDir": {}}]
#: Pod -> its container (`spec`: of the pod).
LABS: dict[str, dict[str, Any]] = {
    "wrong-command": {**NGINX, "command": ["ngnix", "-g", "daemon off;"]},
    "missing-in-shell": {"image": "busybox:1.36", "command": ["sh", "-c", "slep 1000"]},
    "daemon": {**NGINX, "command": ["nginx"]},
    "args-typo": {**NGINX, "args": ["nginx", "-g", "deamon off;"]},
    "wrong-path": {**NGINX, "readinessProbe": {"httpGet": {"path": "/healthz", "port": 80}, "periodSeconds": 2}},
    "right-path": {**NGINX, "readinessProbe": {"httpGet": {"path": "/index.html", "port": 80}, "periodSeconds": 2}},
    "wrong-port": {
        **NGINX,
        "ports": [{"containerPort": 8080}],
        "readinessProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 2},
    },
    "read-only": {**NGINX, "securityContext": {"readOnlyRootFilesystem": True}},
    "read-only-with-room": {
        "spec": {"volumes": EMPTY},
        **NGINX,
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": "cache", "mountPath": "/var/cache/nginx"},
            {"name": "run", "mountPath": "/var/run"},
        ],
    },
    "nobody": {**NGINX, "securityContext": {"runAsUser": 1000}},
    "root-refused": {**NGINX, "securityContext": {"runAsNonRoot": True}},
    "unprivileged": {"image": "nginxinc/nginx-unprivileged:1.27", "securityContext": {"runAsNonRoot": True}},
    "no-capabilities": {**NGINX, "securityContext": {"capabilities": {"drop": ["ALL"]}}},
    "good-conf": conf("good.conf"),
    "bad-conf": conf("bad.conf"),
    "typo-conf": conf("typo.conf"),
    "nowhere": conf("nowhere.conf"),
    "page": {
        "spec": {"volumes": [{"name": "v", "configMap": {"name": "page"}}]},
        **NGINX,
        "volumeMounts": [{"name": "v", "mountPath": "/usr/share/nginx/html/index.html", "subPath": "index.html"}],
    },
    "python-server": {"image": "python:3.12", "command": ["python3", "-m", "http.server", "8000", "-d", "/etc"]},
    "busybox-server": {
        "image": "busybox:1.36",
        "command": ["sh", "-c", "mkdir /www; echo hi > /www/index.html; httpd -p 8080 -h /www; sleep 9999"],
    },
    "echo": {"image": "hashicorp/http-echo:1.0", "args": ["-text=hello", "-listen=:8090"]},
    "echo-flag": {"image": "hashicorp/http-echo:1.0", "args": ["-txt=hello"]},
    "prints": script("import time\nfor i in range(3):\n    print(f'tick {i}')\n    time.sleep(1)"),
    "no-module": script("import flask\nprint('up')"),
    "no-variable": script("import os\nprint(os.environ['DB_HOST'])"),
    "beyond": script("class A:\n    pass\nprint('done')"),
    "no-file": {"image": "python:3.12", "command": ["python", "app.py"], "workingDir": "/app"},
    "serves": script(
        "from http.server import *\nclass H(BaseHTTPRequestHandler):\n  def do_GET(self):\n"
        "    self.send_response(201)\n    self.end_headers()\n    self.wfile.write(b'made')\n"
        "HTTPServer(('', 9000), H).serve_forever()"
    ),
    "serves-as-configured": configured_server({"PORT": "9001", "NAME": "ann"}),
    "not-configured": configured_server({}),
    "asks": script(
        "import os\nfrom os import environ\nif 'LEVEL' in os.environ:\n    print('set')\nelse:\n    print('unset')\n"
        "print(environ.get('LEVEL', 'info'))\nprint(os.getenv('LEVEL'))"
    ),
    "node-fails": {"image": "node:20", "command": ["node", "-e", "console.log('bye'); process.exit(3)"]},
}


@cache
def lab() -> tuple[Any, dict[str, Any]]:
    """All of them in one cluster, a minute later."""
    box = simcluster.sandbox(nodes=3, cpu=16, memory="32Gi")
    items: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": CONFIGURATION},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}, "data": {"index.html": "mine\n"}},
    ]
    for name, port, target in (("echo", 80, 8090), ("nobody", 80, 80)):
        spec = {"selector": {"lab": name}, "ports": [{"port": port, "targetPort": target}]}
        items.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})
    for name, given in {**LABS, "client": {"image": "busybox:1.36", "command": ["sleep", "9999"]}}.items():
        of_container = {key: value for key, value in given.items() if key != "spec"}
        spec = {**given.get("spec", {}), "containers": [{"name": "c", **of_container}]}
        metadata = {"name": name, "labels": {"lab": name}}
        items.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    box.kubectl("apply -f -", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    box.wait("60s")
    found = json.loads(box.kubectl("get pods -o json").stdout)["items"]
    return box, {pod["metadata"]["name"]: pod["status"] for pod in found}


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("wrong-command", 128, ""),
        ("missing-in-shell", 127, "sh: slep: not found"),
        ("daemon", 0, ""),
        ("args-typo", 1, 'nginx: [emerg] unknown directive "deamon" in command line'),
        ("read-only", 1, 'nginx: [emerg] mkdir() "/var/cache/nginx/client_temp" failed (30: Read-only file system)'),
        ("nobody", 1, 'nginx: [emerg] mkdir() "/var/cache/nginx/client_temp" failed (13: Permission denied)'),
        ("no-capabilities", 1, 'chown("/var/cache/nginx/client_temp", 101) failed (1: Operation not permitted)'),
        ("bad-conf", 1, 'directive "listen" is not terminated by ";" in /etc/nginx/conf.d/default.conf:3'),
        ("typo-conf", 1, 'unknown directive "listne" in /etc/nginx/conf.d/default.conf:2'),
        ("nowhere", 1, 'host not found in upstream "api-svc:8080" in /etc/nginx/conf.d/default.conf:1'),
        ("echo-flag", 2, "flag provided but not defined: -txt"),
        ("prints", 0, "tick 2"),
        ("no-module", 1, "ModuleNotFoundError: No module named 'flask'"),
        ("no-variable", 1, "KeyError: 'DB_HOST'"),
        ("not-configured", 1, "KeyError: 'PORT'"),
        ("asks", 0, "unset\ninfo\nNone\n"),
        ("beyond", 1, "'classdef' cannot be run here"),
        ("no-file", 2, "python: can't open file '/app/app.py': [Errno 2] No such file or directory"),
        ("node-fails", 3, "bye"),
    ],
)
def test_what_ends(name: str, code: int, said: str) -> None:
    box, pods = lab()
    state = pods[name]["containerStatuses"][0]
    ended = state["state"].get("terminated") or state["lastState"]["terminated"]
    assert (ended["exitCode"], state["restartCount"] > 0) == (code, True)
    if code == 128:
        assert 'exec: "ngnix": executable file not found in $PATH' in ended["message"]
    assert said in box.kubectl(f"logs {name}").stdout


@pytest.mark.parametrize(
    ("name", "ready"),
    [("wrong-path", False), ("right-path", True), ("wrong-port", False), ("read-only-with-room", True), ("page", True)],
)
def test_what_is_ready(name: str, ready: bool) -> None:
    _, pods = lab()
    state = pods[name]["containerStatuses"][0]
    assert (state["ready"], state["restartCount"]) == (ready, 0)


def test_who_may_be_root() -> None:
    _, pods = lab()
    waiting = pods["root-refused"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["reason"] == "CreateContainerConfigError"
    assert pods["unprivileged"]["containerStatuses"][0]["ready"]


@pytest.mark.parametrize(
    ("name", "asked", "answer"),
    [
        ("right-path", ":80/", "<h1>Welcome to nginx!</h1>"),
        ("right-path", ":80/missing", "404 Not Found"),
        ("right-path", ":8080/", "Connection refused"),
        ("page", ":80/", "mine"),
        ("page", ":80/50x.html", "An error occurred."),
        ("unprivileged", ":8080/", "<h1>Welcome to nginx!</h1>"),
        ("good-conf", ":8081/", "hi good-conf"),
        ("good-conf", ":8081/api/", "hello"),
        ("good-conf", ":8081/gone/", "502 Bad Gateway"),
        ("good-conf", ":8081/a.txt", "404 Not Found"),
        ("python-server", ":8000/hostname", "python-server"),
        ("python-server", ":8000/nothing", "404 Not Found"),
        ("busybox-server", ":8080/", "hi"),
        ("busybox-server", ":8080/x", "404 Not Found"),
        ("echo", ":8090/any", "hello"),
        ("serves", ":9000/", "made"),
    ],
)
def test_what_is_served(name: str, asked: str, answer: str) -> None:
    box, pods = lab()
    said = box.kubectl(f"exec client -- wget -qO- http://{pods[name]['podIP']}{asked}")
    assert answer in said.stdout + said.stderr


def test_nginx_writes_what_it_was_asked_and_what_failed() -> None:
    box, _ = lab()
    log = box.kubectl("logs wrong-path").stdout
    assert '"GET /healthz HTTP/1.1" 404 153 "-" "kube-probe/1.32" "-"' in log
    assert 'open() "/usr/share/nginx/html/healthz" failed (2: No such file or directory)' in log
    box.kubectl("exec client -- wget -qO- http://nobody")  # nobody listens
    assert "syntax is ok" in box.kubectl("exec right-path -- nginx -t").stderr


def test_an_image_that_nobody_described_says_what_it_answered_and_why_not() -> None:
    box = simcluster.sandbox(nodes=1)
    box.kubectl("create deployment web --image=acme/web:1.0 --port=8080")
    box.kubectl("set env deploy/web API=http://api")
    box.kubectl("create service clusterip api --tcp=80:80")
    box.kubectl("expose deploy web --port=80 --target-port=8080")
    box.wait("20s")
    box.load("web", rps=5)
    box.wait("5s")
    lines = box.kubectl("logs deploy/web").stdout.splitlines()
    assert any('"GET /" 502 ' in line for line in lines)
    assert any("connect: connection refused" in line for line in lines)


def test_a_sidecar_prints_what_is_added_to_a_file() -> None:
    box = simcluster.sandbox(nodes=1)
    shared = {"image": "busybox:1.36", "volumeMounts": [{"name": "log", "mountPath": "/log"}]}
    writes = ["sh", "-c", "while true; do date >> /log/a.log; sleep 1; done"]
    containers = [
        {"name": "app", "command": writes, **shared},
        {"name": "side", "command": ["tail", "-n", "+1", "-F", "/log/a.log"], **shared},
        {"name": "kept", "command": ["tail", "-f", "/dev/null"], **shared},
    ]
    spec = {"containers": containers, "volumes": [{"name": "log", "emptyDir": {}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "two"}, "spec": spec}
    box.kubectl("apply -f -", stdin=json.dumps(pod))
    box.wait("90s")
    said = box.kubectl("logs two -c side").stdout
    assert len(said.splitlines()) > 75
    assert box.kubectl("exec two -c app -- cat /log/a.log").stdout.startswith(said)
    assert "3/3" in box.kubectl("get pod two").stdout


def test_half_a_surrogate_in_a_patch_is_no_character() -> None:
    box = simcluster.sandbox(nodes=1)
    box.kubectl("create configmap plain")
    said = box.sh("""kubectl patch configmap plain -p '{"data":{"a":"\\udfff"}}'""")
    assert said.stdout == "configmap/plain patched\n"
    assert box.kubectl("get configmap plain -o jsonpath={.data.a}").stdout == "\ufffd"


def test_interpreters_inside_of_containers() -> None:
    box, _ = lab()
    assert box.kubectl("exec python-server -- python3 -c 'print(6 * 7)'").stdout == "42\n"
    beyond = box.kubectl("exec python-server -- python3 -c 'import os; os.remove(1)'")
    assert (beyond.exit_code, beyond.stdout) == (1, "")
    assert box.kubectl("exec echo -- ls").exit_code == 126 or "not found" in box.kubectl("exec echo -- ls").stderr


def test_a_script_of_a_configmap_reads_its_variables() -> None:
    box, pods = lab()
    asked = f"exec client -- wget -qO- http://{pods['serves-as-configured']['podIP']}:9001/"
    assert box.kubectl(asked).stdout == "hello ann"
    assert 'File "/app/serve.py", line 3' in box.kubectl("logs not-configured").stdout


def test_a_cluster_with_them_can_be_forked() -> None:
    box, pods = lab()
    twin = box.fork()
    asked = f"exec client -- wget -qO- http://{pods['good-conf']['podIP']}:8081/api/"
    assert twin.kubectl(asked).stdout == "hello\n"


@pytest.mark.parametrize(
    "text",
    ["(" * 3000, "x = " + "-" * 4000 + "1", "print('a'" + ",'a'" * 9000 + ")", "\0", "'" * 5, "while True: pass"],
)
def test_hostile_scripts_fail_in_their_own_words(text: str) -> None:
    assert to_shell(text, "<string>")


@pytest.mark.parametrize("text", ["a = 'xxxxxxxx'\n" + "a = a + a\n" * 60, "a = " + "+".join(["'x'"] * 2000) + "\n"])
def test_what_a_script_computes_is_no_longer_than_a_script(text: str) -> None:
    assert served(text + "s = HTTPServer(('', 8080), H)\ns.serve_forever()") in ((8080, 200, ""), None)
