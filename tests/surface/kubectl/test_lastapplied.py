"""`apply set-last-applied|edit-last-applied`, `auth reconcile`, `-k`, and streams that end badly."""

from __future__ import annotations

import pytest

from simcluster.surface.kubectl import Kubectl
from simcluster.surface.kubectl.reconcile import uncovered
from simcluster.world.world import World

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: b}\n"
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
"""


class Editor:
    """Somebody who replaces one word."""

    def edit(self, text: str, suffix: str) -> str:
        return text.replace("a: b", "a: c")


@pytest.fixture(scope="module")
def kubectl() -> Kubectl:
    return World(0, workers=1).kubectl()


def test_last_applied_is_set_and_edited(kubectl: Kubectl) -> None:
    manifest = MAP % "m"
    kubectl.run("create -f -", manifest)
    refused = kubectl.run("apply set-last-applied -f -", manifest)
    assert refused.stderr.startswith("error: no last-applied-configuration annotation found on resource: m, to create")
    done = kubectl.run("apply set-last-applied --create-annotation -f -", manifest)
    assert done.stdout == "configmap/m configured\n"
    assert "  a: b\n" in kubectl.run("apply view-last-applied cm/m").stdout
    kubectl.workstation = Editor()
    assert kubectl.run("apply edit-last-applied cm/m").stdout == "configmap/m edited\n"
    assert "  a: c\n" in kubectl.run("apply view-last-applied cm m").stdout
    assert kubectl.run("get cm m -o jsonpath={.data.a}").stdout == "b"


def test_documents_before_a_bad_one_are_applied(kubectl: Kubectl) -> None:
    text = "---\n".join((MAP % "m1", MAP % "m2", "a: [\n", MAP % "m3"))
    result = kubectl.run("apply -f -", text)
    assert result.stdout == "configmap/m1 created\nconfigmap/m2 created\n"
    assert result.stderr.startswith("error: error parsing STDIN: error converting YAML to JSON: yaml: line 1:")
    assert result.exit_code == 1


def test_kustomizations(kubectl: Kubectl) -> None:
    files = {"k/kustomization.yaml": "configMapGenerator: [{name: c, literals: [A=1]}]\n"}
    built = kubectl.run("kustomize k", files=files)
    assert built.stdout.endswith("kind: ConfigMap\nmetadata:\n  name: c-89g4tffbfk\n")
    assert kubectl.run("apply -k k", files=files).stdout == "configmap/c-89g4tffbfk created\n"
    assert kubectl.run("delete -k k", files=files).stdout == 'configmap "c-89g4tffbfk" deleted\n'
    assert kubectl.run("apply -k k -f x", files=files).stderr == ("error: only one of -f or -k can be specified\n")


def test_reconciling_roles(kubectl: Kubectl) -> None:
    made = kubectl.run("auth reconcile -f -", ROLE)
    assert made.stdout == "role.rbac.authorization.k8s.io/r reconciled\n"
    assert made.stderr.startswith("\treconciliation required create\n\tmissing rules added:\n\t\t{Verbs:[get list]")
    assert kubectl.run("auth reconcile -f -", ROLE).stderr == ""
    wider = kubectl.run("auth reconcile -f -", ROLE.replace("get, list", "get, watch"))
    assert "{Verbs:[watch] APIGroups:[] Resources:[pods] ResourceNames:[] NonResourceURLs:[]}" in wider.stderr
    narrow = kubectl.run("auth reconcile --remove-extra-permissions -f -", ROLE.replace("get, list", "get"))
    assert "extra rules removed" in narrow.stderr
    assert kubectl.run("get role r -o jsonpath={.rules[*].verbs}").stdout == '["get"]'


def test_uncovered_rules() -> None:
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    wanted = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"], "resourceNames": ["a"]}]
    assert uncovered(everything, wanted) == []
    assert uncovered(wanted, everything) == [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
