"""`apply`, `replace`, `create`, `delete` and `expose` on manifests; expected bytes are those of kubectl 1.32."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simcluster.api.request import Request, Response
from simcluster.api.server import Api
from simcluster.engine import SECOND, Simulation
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.protocols import Outcome

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: geo}
spec:
  selector: {matchLabels: {app: geo}}
  template:
    metadata: {labels: {app: geo}}
    spec:
      containers: [{name: geo, image: 'geo:1', ports: [{containerPort: 80}]}]
      volumes: [{name: v, emptyDir: {}}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {a: '5'}}\ndata: {x: '1', z: '2'}\n"
BAD = "apiVersion: v1\nkind: ConfigMap\n  bad: [\n"
BAD_TEXT = (
    "error parsing dir/b.yaml: error converting YAML to JSON: yaml: line 3: mapping values are not allowed in this "
    "context\n"
)
DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.ex.com}
spec:
  group: ex.com
  names: {kind: Foo, plural: foos, singular: foo, shortNames: [fo], categories: [all]}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true,
     schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""


class World:
    """An API server, what was written to it, and a kubectl with an editor."""

    def __init__(self) -> None:
        self.sim = Simulation(1)
        self.api = Api(self.sim)
        self.written: list[Request] = []
        self.kubectl = Kubectl(self, self, workstation=self)
        self.files = {"d.yaml": DEPLOYMENT, "c.yaml": CONFIG}
        self.changes: list[tuple[str, str]] = []
        self.shown: list[str] = []
        for name in ("default", "kube-system"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.api.handle(Request("POST", "/api/v1/namespaces", body=body))

    @property
    def now(self) -> int:
        return self.sim.now

    def advance(self, duration_ns: int) -> None:
        self.sim.run_until(self.sim.now + duration_ns)

    def handle(self, request: Request) -> Response:
        if request.method != "GET":
            self.written.append(request)
        return self.api.handle(request)

    def edit(self, text: str, suffix: str) -> str:
        self.shown.append(text)
        for before, after in self.changes:
            text = text.replace(before, after)
        return text

    def run(self, line: str, stdin: str = "") -> Outcome:
        self.written.clear()
        self.shown.clear()
        return self.kubectl.run(line, stdin, self.files)

    def ok(self, line: str, stdin: str = "") -> str:
        result = self.run(line, stdin)
        assert result.exit_code == 0, result
        return result.stdout

    def err(self, line: str, stdin: str = "") -> str:
        result = self.run(line, stdin)
        assert result.exit_code == 1, result
        return result.stderr

    def patch(self) -> Any:
        return next(request.body for request in self.written if request.method == "PATCH")


@pytest.fixture
def world() -> World:
    return World()


def test_apply_changes_the_type_of_a_volume(world: World) -> None:
    world.ok("create -f d.yaml")  # so that nothing remembers the old type
    world.files["d.yaml"] = DEPLOYMENT.replace("emptyDir: {}", "configMap: {name: c}")
    assert world.ok("apply -f d.yaml") == "deployment.apps/geo configured\n"
    assert world.patch()["spec"]["template"]["spec"] == {
        "$setElementOrder/volumes": [{"name": "v"}],
        "volumes": [{"$retainKeys": ["configMap", "name"], "configMap": {"name": "c"}, "name": "v"}],
    }
    volumes = json.loads(world.ok("get deploy geo -o jsonpath='{.spec.template.spec.volumes}'"))
    assert volumes == [{"configMap": {"defaultMode": 420, "name": "c"}, "name": "v"}]
    world.files["d.yaml"] = DEPLOYMENT.replace("spec:\n  selector", "spec:\n  strategy: {type: Recreate}\n  selector")
    world.ok("apply -f d.yaml")
    assert world.patch()["spec"]["strategy"] == {"$retainKeys": ["type"], "type": "Recreate"}
    assert world.ok("get deploy geo -o jsonpath='{.spec.strategy}'") == '{"type":"Recreate"}'


def test_apply_says_the_order_of_a_list_of_which_the_server_has_more(world: World) -> None:
    world.ok("apply -f d.yaml")
    world.ok("set env deploy/geo A=1")
    sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:1"}]}}}}'
    world.ok(f"patch deploy geo -p '{sidecar}'")
    assert world.ok("apply -f d.yaml") == "deployment.apps/geo configured\n"
    assert world.patch()["spec"]["template"]["spec"] == {"$setElementOrder/containers": [{"name": "geo"}]}


def test_server_side_apply_takes_over_what_client_side_apply_owned(world: World) -> None:
    world.ok("apply -f c.yaml")
    world.files["c.yaml"] = CONFIG.replace("'1', z: '2'", "'2'")
    assert world.ok("apply --server-side -f c.yaml") == "configmap/c serverside-applied\n"
    assert world.ok("get cm c -o jsonpath='{.data}'") == '{"x":"2"}'
    owners = "{range .metadata.managedFields[*]}{.manager}/{.operation} {end}"
    assert world.ok(f"get cm c -o jsonpath='{owners}' --show-managed-fields") == (
        "kubectl/Apply kubectl-last-applied/Apply "
    )


def test_server_side_apply_still_conflicts_with_others(world: World) -> None:
    world.ok("apply -f c.yaml")
    world.ok("""patch cm c -p '{"data":{"z":"9"}}'""")
    world.files["c.yaml"] = CONFIG.replace("'1'", "'7'")
    assert world.err("apply --server-side -f c.yaml").startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl-patch" using v1: .data.z\nPlease review'
    )
    assert world.err("apply --server-side -f c.yaml --field-manager=other").startswith(
        "error: Apply failed with 2 conflicts: conflicts with "
    )


def test_a_forced_apply_restores_the_object_when_the_new_one_is_invalid(world: World) -> None:
    world.ok("apply -f d.yaml")
    world.files["d.yaml"] = DEPLOYMENT.replace("labels: {app: geo}", "labels: {app: zeo}")
    assert world.err("apply -f d.yaml --force") == (
        'The Deployment "geo" is invalid: spec.template.metadata.labels: Invalid value: {"app":"zeo"}: '
        "`selector` does not match template `labels`\n".replace('{"app":"zeo"}', 'map[string]string{"app":"zeo"}')
    )
    assert [request.method for request in world.written] == ["PATCH", "DELETE", "POST", "POST"]
    assert world.ok("get deploy geo -o jsonpath='{.spec.template.metadata.labels}'") == '{"app":"geo"}'


def test_a_forced_replace_takes_its_flags_and_refuses_a_dry_run(world: World) -> None:
    world.ok("create -f c.yaml")
    assert world.ok("replace --force --grace-period=0 -f c.yaml") == 'configmap "c" deleted\nconfigmap/c replaced\n'
    delete, create = world.written
    assert delete.body == {"gracePeriodSeconds": 1, "propagationPolicy": "Background"}
    assert dict(create.query) == {"fieldManager": "kubectl-replace", "fieldValidation": "Strict"}
    assert world.err("replace --force --dry-run=client -f c.yaml") == (
        "error: --dry-run can not be used when --force is set\n"
    )


def test_a_new_definition_reaches_discovery(world: World) -> None:
    world.ok("get all")
    assert "foos" not in world.ok("api-resources")
    world.ok("apply -f -", DEFINITION)
    world.advance(SECOND)
    assert world.ok("api-resources --api-group=ex.com") == (
        "NAME   SHORTNAMES   APIVERSION   NAMESPACED   KIND\nfoos   fo           ex.com/v1    true         Foo\n"
    )
    assert "ex.com/v1\n" in world.ok("api-versions")
    custom = '{"apiVersion": "ex.com/v1", "kind": "Foo", "metadata": {"name": "f"}}'
    assert world.ok("apply -f -", custom) == "foo.ex.com/f created\n"
    assert world.ok("get fo -o name") == world.ok("get all -o name") == "foo.ex.com/f\n"


def test_a_folder_with_one_bad_file(world: World) -> None:
    world.files.update({"dir/a.yaml": CONFIG, "dir/b.yaml": BAD, "dir/z.yaml": CONFIG.replace("name: c", "name: z")})
    assert world.run("apply -f dir") == Outcome("configmap/c created\nconfigmap/z created\n", "error: " + BAD_TEXT, 1)
    exists = "Error from server (AlreadyExists): error when creating "
    assert world.err("create -f dir") == (
        f'{exists}"dir/a.yaml": configmaps "c" already exists\n'
        f'{exists}"dir/z.yaml": configmaps "z" already exists\n{BAD_TEXT}'
    )
    assert world.run("label -f dir x=y").stdout == "configmap/c labeled\nconfigmap/z labeled\n"
    assert world.run("delete -f dir") == Outcome(
        'configmap "c" deleted\nconfigmap "z" deleted\n', "error: " + BAD_TEXT, 1
    )
    missing = "Error from server (NotFound): configmaps "
    assert world.err("label -f dir x=y") == f'{missing}"c" not found\n{BAD_TEXT}{missing}"z" not found\n'


def _document(name: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("text", "out", "err"),
    [
        (_document("j1") + _document("j2"), "j1 j2", ""),
        ("\n " + _document("j1") + "\n\t" + _document("j2") + "\n", "j1 j2", ""),
        (_document("j1") + "{", "j1", "unexpected EOF"),
        (_document("j1") + ",", "j1", "json: offset 64: invalid character ',' looking for beginning of value"),
        (
            _document("j1") + "\n---\n" + _document("j2"),
            "j1",
            "json: offset 66: invalid character '-' in numeric literal",
        ),
        ('{"a":1,}', "", "json: offset 8: invalid character '}' looking for beginning of object key string"),
        ("{a: 1}", "", "json: offset 2: invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "", "json: offset 6: invalid character '1' after object key"),
        ('{"a":1 "b"}', "", "json: offset 8: invalid character '\"' after object key:value pair"),
        ("---\n" + _document("j1") + "\n---\n" + _document("j2"), "j1 j2", ""),
    ],
)
def test_several_json_documents_in_one_stream(world: World, text: str, out: str, err: str) -> None:
    result = world.run("create --dry-run=client -f -", text)
    assert result.stdout == "".join(f"configmap/{name} created (dry run)\n" for name in out.split())
    assert result.stderr == (f"error: error parsing STDIN: {err}\n" if err else "")


def test_generators_take_a_file_without_asking_for_the_object(world: World) -> None:
    assert world.ok("expose -f d.yaml --dry-run=client") == "service/geo exposed (dry run)\n"
    assert world.ok("expose -f d.yaml --dry-run=client -o jsonpath='{.spec}'") == (
        '{"ports":[{"port":80,"protocol":"TCP","targetPort":80}],"selector":{"app":"geo"}}'
    )
    hpa = "horizontalpodautoscaler.autoscaling/geo"
    assert world.ok("autoscale -f d.yaml --max=3 --dry-run=client") == f"{hpa} created (dry run)\n"
    assert world.ok("autoscale -f d.yaml --max=3") == f"{hpa} autoscaled\n"
    assert world.err("autoscale -f c.yaml --max=3 --dry-run=client") == (
        "error: cannot autoscale a ConfigMap: could not find scale subresource for /v1, Resource=configmaps in "
        "discovery information\n"
    )


def test_set_selector_of_a_file(world: World) -> None:
    world.ok("expose -f d.yaml")
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: geo}\n"
    assert world.ok("set selector -f - a=b", service) == "service/geo selector updated\n"
    assert world.ok("get svc geo -o jsonpath='{.spec.selector}'") == '{"a":"b"}'
    assert world.err("set selector -f d.yaml") == "error: one selector is required\n"
    conflict = 'Error from server (Conflict): Operation cannot be fulfilled on services "geo": '
    assert world.err("set selector svc geo c=d --resource-version=1").startswith(conflict)


def test_raw_requests(world: World) -> None:
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"r":"1"}}'
    path = "/api/v1/namespaces/default/configmaps"
    assert world.err(f"replace --raw {path}/c -f -", body) == 'Error from server (NotFound): configmaps "c" not found\n'
    world.ok(f"create --raw {path} -f -", body)
    answer = json.loads(world.ok(f"replace --raw {path}/c -f -", body.replace('"1"', '"2"')))
    assert (answer["kind"], answer["data"]) == ("ConfigMap", {"r": "2"})
    assert [request.method for request in world.written] == ["PUT"]
    invalid = 'error: --raw must be a valid URL path: parse "api/x": invalid URI for request\n'
    assert world.err("replace --raw api/x -f c.yaml") == world.err("delete --raw api/x") == invalid
    assert world.err(f"replace --raw {path}/c -f c.yaml -f d.yaml") == (
        "error: --raw can only use a single local file or stdin\n"
    )
    assert world.err(f"create --raw {path} -f - -o json") == "error: --raw and --output are mutually exclusive\n"
    assert world.err(f"create --raw {path} -f - --edit") == "error: --raw and --edit are mutually exclusive\n"


def test_a_delete_of_cluster_scoped_objects_under_a_namespace_warns(world: World) -> None:
    warning = "Warning: deleting cluster-scoped resources, not scoped to the provided namespace\n"
    assert world.run("delete ns kube-system -n default --dry-run=client") == Outcome(
        'namespace "kube-system" deleted (dry run)\n', warning
    )
    assert world.err("delete ns,node x y -n q") == warning + "".join(
        f'Error from server (NotFound): {kind} "{name}" not found\n'
        for kind in ("namespaces", "nodes")
        for name in ("x", "y")
    )
    assert warning not in world.err("delete ns nope")
    assert warning not in world.err("delete cm nope -n default")


@pytest.mark.parametrize(
    ("selector", "refusal"),
    [
        ("a>3", ""),
        ("a in (5,6)", ""),
        ("!b", ""),
        ("a gt 3", "unable to parse requirement: found 'gt', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("x in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        (",,", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be "
            "an integer",
        ),
    ],
)
def test_one_grammar_of_selectors(world: World, selector: str, refusal: str) -> None:
    world.ok("create -f c.yaml")
    for line in ("apply -f c.yaml --dry-run=client", "label -f c.yaml x=y", "delete -f c.yaml --dry-run=client"):
        result = world.run(f"{line} -l '{selector}'")
        expected = f'error: the provided selector "{selector}" is not valid: {refusal}\n' if refusal else ""
        assert (result.stderr, result.exit_code) == (expected, 1 if refusal else 0)
        assert ("configmap/c " in result.stdout or 'configmap "c"' in result.stdout) is not bool(refusal)
    assert world.run(f"get cm -l '{selector}'").exit_code == (1 if refusal else 0)
    assert world.err("apply -f c.yaml -l a=6") == "error: no objects passed to apply\n"


HEAD = """\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""


def test_several_objects_are_edited_as_one_list(world: World) -> None:
    world.ok("create -f -", CONFIG + "---\n" + CONFIG.replace("name: c", "name: d"))
    world.changes = [('x: "1"', 'x: "5"')]
    assert world.ok("edit cm c d") == "configmap/c edited\nconfigmap/d edited\n"
    assert world.shown[0].startswith(HEAD + "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n")
    assert world.shown[0].endswith("kind: List\nmetadata: {}\n")
    assert [request.body for request in world.written] == [{"data": {"x": "5"}}] * 2
    world.changes = [("    name: c\n", "    name: c\n    labels: {q: r}\n")]
    assert world.ok("edit cm c d") == "configmap/c edited\nconfigmap/d skipped\n"
    world.changes = [("name: d", "name: q")]
    result = world.run("edit cm c d")
    assert result.stdout == "configmap/c skipped\n"
    assert result.stderr.endswith("error: At least one of apiVersion, kind and name was changed\n")
    world.changes = []
    assert world.run("edit cm c d") == Outcome("", "Edit cancelled, no changes made.\n")


def test_an_invalid_edit_opens_the_editor_again(world: World) -> None:
    world.ok("create -f c.yaml")
    world.changes = [("\ndata:", "\nbar: 1\ndata:")]
    result = world.run("edit cm c")
    assert result.stderr.startswith('error: configmaps "c" is invalid\n')
    assert result.stderr.endswith("error: Edit cancelled, no valid changes were saved.\n")
    assert world.shown[1].startswith(
        HEAD + '# configmaps "c" was not valid:\n'
        '# * patch: Invalid value: "map[bar:1]": strict decoding error: unknown field "bar"\n#\n'
        "apiVersion: v1\nbar: 1\n"
    )
    world.changes = [("resourceVersion: ", "resourceVersion: '1' #")]
    printed = world.err("edit cm c")
    assert printed.startswith('error: configmaps "c" could not be patched: Operation cannot be fulfilled on configmaps')
    assert "\nYou can run `kubectl replace -f /tmp/kubectl-edit-" in printed


def test_create_edits_before_it_creates(world: World) -> None:
    world.changes = [("name: ", "name: n")]
    assert world.ok("create --edit -f -", CONFIG + "---\n" + CONFIG.replace("name: c", "name: d")) == (
        "configmap/nc created\nconfigmap/nd created\n"
    )
    assert world.shown[0] == (
        HEAD
        + 'apiVersion: v1\ndata:\n  x: "1"\n  z: "2"\nkind: ConfigMap\nmetadata:\n  labels:\n    a: "5"\n  name: c\n'
        "  namespace: default\n"
    )
    world.changes = []
    assert world.run("create --edit -f c.yaml") == Outcome("", "Edit cancelled, no changes made.\n")
    assert not world.written
    assert world.err("create --edit -f c.yaml -o name") == (
        'error: unable to match a printer suitable for the output format "name", allowed formats are: json,yaml\n'
    )


@pytest.mark.parametrize(
    ("line", "refusal"),
    [
        ("delete", 'error when deleting "STDIN": resource name may not be empty'),
        ("replace", 'error when replacing "STDIN": resource name may not be empty'),
        ("patch -p '{}'", "resource name may not be empty"),
        ("label x=y", "resource name may not be empty"),
        ("apply --server-side", "resource name may not be empty"),
    ],
)
@pytest.mark.parametrize("metadata", ["{}", "{labels: {a: b}}", "text"])
def test_a_manifest_without_a_name_never_means_a_collection(
    world: World, line: str, refusal: str, metadata: str
) -> None:
    world.ok("create -f c.yaml")
    result = world.run(f"{line} -f -", f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n")
    assert result == Outcome("", f"error: {refusal}\n", 1)
    assert not world.written
    assert world.ok("get cm -o name") == "configmap/c\n"


@pytest.mark.parametrize(
    ("text", "of_create", "of_others"),
    [
        ("metadata: {name: x}\n", "[apiVersion not set, kind not set]", "Object 'Kind' is missing in '{}'"),
        (
            "hello\n",
            "invalid object to validate",
            "json: cannot unmarshal string into Go value of type unstructured.detector",
        ),
    ],
)
def test_what_is_no_manifest(world: World, text: str, of_create: str, of_others: str) -> None:
    assert world.err("create -f -", text) == (
        f'error: error validating "STDIN": error validating data: {of_create}; '
        "if you choose to ignore these errors, turn validation off with --validate=false\n"
    )
    undecoded = of_others.replace("'{}'", """'{"metadata":{"name":"x"}}'""")
    for line in ("delete -f -", "label x=y -f -", "create --validate=false -f -"):
        assert world.err(line, text) == f'error: unable to decode "STDIN": {undecoded}\n'


def test_items_of_a_list_of_one_kind_need_not_name_it(world: World) -> None:
    text = "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n"
    assert world.ok("create -f -", text) == "configmap/a created\nconfigmap/b created\n"
    assert world.ok("delete -f -", text) == 'configmap "a" deleted\nconfigmap "b" deleted\n'


def test_a_patch_of_a_kustomization_chooses_by_labels(world: World) -> None:
    world.files["k/kustomization.yaml"] = (
        "resources: [c.yaml]\npatches:\n- target: {labelSelector: 'a in (5)'}\n"
        "  patch: '[{op: replace, path: /data/x, value: new}]'\n"
        "- target: {labelSelector: a!=5}\n  patch: '[{op: replace, path: /data/x, value: wrong}]'\n"
    )
    world.files["k/c.yaml"] = CONFIG
    assert "x: new\n" in world.ok("kustomize k")
