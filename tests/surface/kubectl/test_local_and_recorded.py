"""`--local`, `--record`, `--token`, `-v`: flags that change how a command works rather than what it does.

Expected bytes are those of kubectl 1.32.
"""

from __future__ import annotations

import pytest

from simcluster.api.request import Request
from simcluster.surface.protocols import Outcome
from tests.clusters.bareserver import BareServer

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: geo, labels: {app: geo}}
spec:
  replicas: 2
  selector: {matchLabels: {app: geo}}
  template:
    metadata: {labels: {app: geo}}
    spec:
      containers: [{name: geo, image: 'geo:1', ports: [{containerPort: 80}]}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: '1'}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {selector: {app: geo}, ports: [{port: 80}]}\n"
CUSTOM = "apiVersion: ex.com/v1\nkind: Foo\nmetadata: {name: f}\nspec: {a: 1}\n"
FILES_ONLY = """\
error: you must specify resources by --filename when --local is set.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
"""


class World(BareServer):
    """An API server that counts its requests, and a kubectl."""

    def __init__(self) -> None:
        super().__init__({"d.yaml": DEPLOYMENT, "c.yaml": CONFIG, "s.yaml": SERVICE, "f.yaml": CUSTOM})
        for name in ("default", "kube-system"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.api.handle(Request("POST", "/api/v1/namespaces", body=body))


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("set image -f d.yaml geo=geo:9 --local", "deployment.apps/geo image updated\n"),
        ("set env -f d.yaml A=1 --local", "deployment.apps/geo env updated\n"),
        ("set resources -f d.yaml --limits=cpu=1 --local", "deployment.apps/geo resource requirements updated\n"),
        ("set sa -f d.yaml robot --local", "deployment.apps/geo serviceaccount updated\n"),
        ("set selector -f s.yaml a=b --local", "service/s selector updated\n"),
        ("set image -f d.yaml geo=geo:9 --local --dry-run=client", "deployment.apps/geo image updated (dry run)\n"),
        ("label -f c.yaml a=b --local", "configmap/c labeled\n"),
        ("annotate -f c.yaml a=b --local", "configmap/c annotated\n"),
        ("label -f f.yaml a=b --local", "foo.ex.com/f labeled\n"),
        ("""patch -f c.yaml --local -p '{"data":{"q":"1"}}'""", "configmap/c patched\n"),
    ],
)
def test_a_local_change_asks_no_server(world: World, line: str, printed: str) -> None:
    assert world.ok(line) == printed
    assert not world.requests


def test_set_prints_a_local_object_as_go_types_hold_it(world: World) -> None:
    assert (
        world.ok("set image -f d.yaml geo=geo:9 --local -o yaml")
        == """\
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: null
  labels:
    app: geo
  name: geo
spec:
  replicas: 2
  selector:
    matchLabels:
      app: geo
  strategy: {}
  template:
    metadata:
      creationTimestamp: null
      labels:
        app: geo
    spec:
      containers:
      - image: geo:9
        name: geo
        ports:
        - containerPort: 80
        resources: {}
status: {}
"""
    )


def test_label_and_patch_print_a_local_object_as_the_file_has_it(world: World) -> None:
    assert world.ok("label -f c.yaml a=b --local -o yaml") == (
        'apiVersion: v1\ndata:\n  x: "1"\nkind: ConfigMap\nmetadata:\n  labels:\n    a: b\n  name: c\n'
    )
    line = """patch -f f.yaml --type=merge -p '{"spec":{"a":2}}' --local -o jsonpath={.spec}"""
    assert world.ok(line) == '{"a":2}'


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("set image deploy/geo geo=x --local", FILES_ONLY),
        ("set selector svc/s a=b --local", FILES_ONLY),
        ("set resources deploy/geo --limits=cpu=1 --local", FILES_ONLY),
        ("set subject rolebinding x --user=a --local", FILES_ONLY),
        ("patch cm c --local -p '{}'", "error: cannot specify --local and server resources\n"),
        (
            "annotate cm c a=b --local",
            "error: can only use local files by -f rsrc.yaml or --filename=rsrc.json when --local=true is set\n",
        ),
        (
            "set image -f f.yaml a=b --local",
            'error: unable to decode "f.yaml": no kind "Foo" is registered for version "ex.com/v1" in scheme '
            '"pkg/scheme/scheme.go:28"\n',
        ),
        (
            """patch -f f.yaml -p '{"a":1}' --local""",
            "error: strategic merge patch is not supported for ex.com/v1, Kind=Foo locally, try --type merge\n",
        ),
        ("patch -f c.yaml -p abc --local", "error: invalid JSON document\n"),
        (
            "set env -f c.yaml a=b --local",
            "error: configmap/c the object is not a pod or does not have a pod template: *v1.ConfigMap\n",
        ),
    ],
)
def test_local_refusals(world: World, line: str, printed: str) -> None:
    assert world.run(line) == Outcome("", printed, 1)
    assert not world.requests


@pytest.mark.parametrize(
    ("line", "printed", "cause"),
    [
        ("apply -f d.yaml --record", "created", "kubectl apply --filename=d.yaml --record=true"),
        ("set image deploy/geo geo=g --record", "image updated", "kubectl set image deploy/geo geo=g --record=true"),
        ("scale deploy geo --replicas=3 --record", "scaled", "kubectl scale deploy geo --replicas=3 --record=true"),
        ("label deploy geo a=b --record", "labeled", "kubectl label deploy geo a=b --record=true"),
        ("annotate deploy geo a=b --record", "annotated", "kubectl annotate deploy geo a=b --record=true"),
        ("patch deploy geo -p '{}' --record", "patched", "kubectl patch deploy geo --patch={} --record=true"),
    ],
)
def test_record_notes_the_command_down(world: World, line: str, printed: str, cause: str) -> None:
    if not line.startswith("apply"):
        world.ok("apply -f d.yaml")
    result = world.run(line)
    assert result.stdout.startswith(f"deployment.apps/geo {printed}")
    assert result.stderr == "Flag --record has been deprecated, --record will be removed in the future\n"
    path = "{.metadata.annotations.kubernetes\\.io/change-cause}"
    assert world.ok(f"get deploy geo -o jsonpath='{path}'") == cause


def test_record_is_known_where_the_real_one_knows_it(world: World) -> None:
    for line in ("taint node x a=b:NoSchedule", "delete cm c", "set env deploy/geo A=1", "rollout undo deploy geo"):
        assert "unknown flag: --record" in world.run(line + " --record").stderr


def test_a_token_decides_who_asks(world: World) -> None:
    world.ok("create sa robot")
    token = world.ok("create token robot").strip()
    who = world.ok(f"auth whoami --token={token}")
    assert "system:serviceaccount:default:robot" in who
    assert world.run("get pods --token=nonsense") == Outcome(
        "", "error: You must be logged in to the server (Unauthorized)\n", 1
    )
    assert world.ok("get cm -o name") == ""  # the next command is the administrator's again


def test_requests_are_logged_at_verbosity_six(world: World) -> None:
    world.ok("get cm")
    assert world.run("get cm -v=6").stderr == (
        "I0302 09:00:00.000000   28827 loader.go:402] Config loaded from file:  /root/.kube/config\n"
        "I0302 09:00:00.000000   28827 round_trippers.go:560] GET https://127.0.0.1:6443/api/v1/namespaces/default/"
        "configmaps?limit=500 200 OK in 1 milliseconds\n"
        "No resources found in default namespace.\n"
    )
    printed = world.run("get cm nope -v=6").stderr
    assert "configmaps/nope 404 Not Found in 1 milliseconds\n" in printed
    assert 'helpers.go:246] server response object: %s[{\n  "kind": "Status",\n' in printed
    assert printed.endswith('}]\nError from server (NotFound): configmaps "nope" not found\n')
    assert "Request Headers:\n" in world.run("get cm -v=7").stderr
    assert "Response Body" in world.run("get cm -v=8").stderr
    assert world.run("get cm -v=3").stderr == "No resources found in default namespace.\n"
