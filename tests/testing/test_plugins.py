"""A package of somebody else's adds one of everything, and its own tests prove it with `simcluster.testing`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "acme-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n",
    "acme-1.0.dist-info/entry_points.txt": """\
[simcluster.apps]
kiosk = acme.kiosk
[simcluster.faults]
closing = acme.closing
[simcluster.checks]
kiosk_is_open = acme.checks:KioskIsOpen
[simcluster.noises]
relabel = acme.noises:Relabel
[simcluster.agents]
acme = acme.agent:Reopener
[simcluster.content]
acme = acme
""",
    "acme/__init__.py": "",
    "acme/kiosk/__init__.py": "",
    "acme/kiosk/app.py": """\
from simcluster.models.apps.server import ServerProgram


class KioskProgram(ServerProgram):
    pass


PROGRAMS = {"kiosk": KioskProgram}
""",
    "acme/kiosk/behaviour.yaml": """\
application: kiosk
description: A kiosk
namespace: kiosk
users: {entry: kiosk, rps: 20, mix: {index: 1}}
services:
  kiosk:
    image: {repository: example.com/kiosk, tags: [v1], size: 20M}
    program: kiosk
    logic: kiosk
    protocol: http
    ports: [{number: 8080}]
    operations: {index: {path: /, work: 1ms}}
""",
    "acme/kiosk/manifests.yaml": """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: kiosk}
spec:
  replicas: 2
  serviceName: kiosk
  selector: {matchLabels: {app: kiosk}}
  template:
    metadata: {labels: {app: kiosk}}
    spec:
      containers:
        - {name: kiosk, image: "example.com/kiosk:v1", ports: [{containerPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: kiosk}
spec: {selector: {app: kiosk}, ports: [{port: 80, targetPort: 8080}]}
""",
    "acme/kiosk/prerequisites.yaml": """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shutters.acme.example.com}
spec:
  group: acme.example.com
  scope: Namespaced
  names: {plural: shutters, singular: shutter, kind: Shutter, listKind: ShutterList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
""",
    "acme/kiosk/cases.yaml": """\
users: {entry: kiosk, rps: 20}
requests: [{service: kiosk, port: 80, path: /}]
""",
    "acme/closing/__init__.py": "",
    "acme/closing/scaled_away.py": '''\
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.mechanism import Mechanism
from simcluster.faults.target import ImpossibleTarget


class Nothing(Content):
    """No parameters."""


class ScaledAway(Mechanism):
    """A workload of any kind is asked to have no pods."""

    Params = Nothing
    sheet = DataSheet(
        layer="configuration",
        family="closing",
        changes=("spec.replicas",),
        follows="Nobody answers.",
        undone_by=("scaling up",),
        source="practice",
    )

    def check(self, target):
        super().check(target)
        if not self._replicas(target):
            raise ImpossibleTarget(f"{self.ref} has no replicas to lose")

    def inject(self, target):
        client = target.client(self.deployer.user, self.deployer.manager)
        client.patch(*self.ref.key_in(target.api, self.namespace), {"spec": {"replicas": 0}}, kind="merge")

    def still_present(self, target):
        return "" if self._replicas(target) else f"{self.ref} has no replicas"

    def _replicas(self, target):
        found = self.ref.find(target.api, self.namespace)
        return 1 if found is None else found["spec"].get("replicas", 0)
''',
    "acme/closing/specs/kiosk_closed.yaml": """\
id: kiosk_closed
mechanism: scaled_away
description: A workload is scaled to nothing.
symptoms: [there are no pods]
""",
    "acme/closing/words.yaml": """\
families:
  closing:
    means: a shop that is closed
    consequences: [missing_endpoints, scaled_down]
    patterns:
      - {all: [closed], any: [shop, kiosk, shutter*]}
""",
    "acme/closing/cases.yaml": """\
faults:
  kiosk_closed:
    app: kiosk
    target: {kind: StatefulSet, name: kiosk}
    refused:
      - {params: {colour: red}, because: unknown key 'colour'}
      - {target: {kind: Service, name: kiosk}, because: has no replicas to lose}
      - {target: {kind: StatefulSett, name: kiosk}, because: did you mean StatefulSet}
words:
  closing:
    right: [the kiosk is closed]
    wrong: [the connection is closed]
""",
    "acme/checks.py": '''\
from simcluster.engine.content import Content
from simcluster.eval.oracles.check import Check


class OpenArgs(Content):
    """How many pods there must be."""

    pods: int


class KioskIsOpen(Check):
    """So many pods of the kiosk run."""

    Args = OpenArgs

    def why_not(self, ctx):
        found = len(ctx.world.api.store.objects("pods", ctx.namespace))
        return "" if found >= self.args.pods else f"{found} pods"
''',
    "acme/noises.py": '''\
from simcluster.engine.content import Content
from simcluster.noise.mechanism import Disturbance


class Nothing(Content):
    """No parameters."""


class Relabel(Disturbance):
    """Nothing that anybody notices."""

    Params = Nothing

    def begin(self, target, stream):
        return ""
''',
    "acme/noise/breeze.yaml": "id: breeze\ndescription: x\ndisturbances: [{mechanism: relabel}]\n",
    "acme/agent.py": '''\
class Reopener:
    """Opens the kiosk."""

    name = "acme"

    def run(self, session):
        session.kubectl("scale statefulset kiosk -n kiosk --replicas=2")
        session.diagnose("StatefulSet kiosk: the kiosk is closed: replicas=0.")
''',
    "acme/tasks/kiosk_closed_kiosk.yaml": """\
id: kiosk_closed_kiosk
title: The kiosk is closed
app: kiosk
namespace: kiosk
users: {entry: kiosk, rps: 20}
ticket: {text: Nobody can buy anything at the kiosk., after: 20s}
incident:
  - {fault: kiosk_closed, at: 30s, target: {kind: StatefulSet, name: kiosk}}
committed_depth: D3
protects: [kiosk]
truth:
  component: StatefulSet/kiosk
  mechanism: the kiosk was closed
  details: {replicas: "0"}
  scope: [kiosk]
accepted_when:
  - {check: cause_gone}
  - {check: kiosk_is_open, args: {pods: 2}}
  - {check: users_succeed, args: {entry: kiosk, ratio: 0.99, for: 60s}}
  - {check: nothing_worse_than_before, args: {may_change: [Shutter/none]}}
reference_fixes:
  - [{kubectl: scale statefulset kiosk -n kiosk --replicas=2}]
  - [{kubectl: 'patch statefulset kiosk -n kiosk -p ''{"spec":{"replicas":2}}'''}]
reference_diagnoses:
  right: ["StatefulSet kiosk: the kiosk is closed: replicas=0."]
  plausible_but_wrong: ["StatefulSet kiosk: its image cannot be pulled."]
""",
}
PROOF = """\
from simcluster.agents import registry as agents
from simcluster.engine.content import ContentError
from simcluster.eval.proof import check
from simcluster.testing import check_app, check_fault, check_task

check_app("kiosk")
findings = check_fault("kiosk_closed", tries=(1, 1)).findings
assert any(finding.name == "a task uses it" for finding in findings)  # and proves it
assert check("breeze").passed
assert agents.create("acme").name == "acme"
try:
    check_task("BROKEN")
except ContentError as error:
    print(error.problem)
"""
#: What `simcluster list KIND --json` prints for each kind, a line for each.
LISTS = """\
import contextlib, io, json, sys
from simcluster.cli import main

for kind in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert main(["list", kind, "--json"]) == 0
    print(json.dumps(json.loads(printed.getvalue())))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def run(package: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{package}{os.pathsep}{ROOT}"}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=False)


def test_a_package_adds_one_of_everything(package: Path) -> None:
    broken = package / "kiosk_closed_kiosk.yaml"
    broken.write_text(FILES["acme/tasks/kiosk_closed_kiosk.yaml"].replace("StatefulSet/kiosk", "Shuter/kiosk"))
    (package / "proof.py").write_text(PROOF.replace("BROKEN", str(broken)))
    done = run(package, "proof.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "unknown kind 'Shuter'; did you mean Shutter?\n"


def test_the_command_line_knows_them_and_an_agent_of_theirs_solves_their_task(package: Path) -> None:
    theirs = {
        "agents": "acme", "apps": "kiosk", "checks": "kiosk_is_open", "faults": "kiosk_closed", "noises": "breeze",
        "tasks": "kiosk_closed_kiosk",
    }  # fmt: skip
    listed = run(package, "-c", LISTS, *theirs)
    assert listed.returncode == 0, listed.stderr
    for name, rows in zip(theirs.values(), listed.stdout.splitlines(), strict=True):
        assert name in [row["id"] for row in json.loads(rows)]
    done = run(package, "-m", "simcluster", "eval", "kiosk_closed_kiosk", "--agent", "acme", "--json", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert '"passed": true' in done.stdout


@pytest.mark.parametrize(
    ("file", "text", "kind"),
    [
        ("acme/kiosk/app.py", "import nothing_like_it", "apps"),
        ("acme/closing/scaled_away.py", "1 / 0", "faults"),
        ("acme/checks.py", "KioskIsOpen = 3", "checks"),
        ("acme/noises.py", "", "noises"),
    ],
)
def test_a_broken_one_is_named(package: Path, file: str, text: str, kind: str) -> None:
    (package / file).write_text(text)
    done = run(package, "-m", "simcluster", "list", kind)
    assert done.returncode == 2, done.stderr
    assert "acme" in done.stderr
    assert "Traceback" not in done.stderr
