"""Verbs against the API server in process: requests, printed lines, exit codes."""

from __future__ import annotations

import pickle

import pytest

from simcluster.api.request import Request
from simcluster.engine import SECOND
from simcluster.surface.kubectl import Kubectl
from tests.clusters.bareserver import BareServer

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: geo
  labels: {app: geo}
spec:
  replicas: 2
  selector: {matchLabels: {app: geo}}
  template:
    metadata: {labels: {app: geo}}
    spec:
      containers:
      - name: geo
        image: geo:1
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
"""
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {x: '1', z: '3'}\n"


class World(BareServer):
    """An API server, a clock over its simulation, and a record of the requests."""

    def __init__(self) -> None:
        super().__init__({"geo.yaml": DEPLOYMENT, "c.yaml": CONFIG, "dir/a.yaml": CONFIG})

    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.method != "GET"]


@pytest.fixture
def world() -> World:
    world = World()
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    world.api.handle(Request("POST", "/api/v1/namespaces", body=namespace))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    world.api.handle(Request("POST", "/api/v1/namespaces/default/serviceaccounts", body=account))
    return world


def test_apply_creates_configures_and_leaves_alone(world: World) -> None:
    assert world.ok("apply -f geo.yaml") == "deployment.apps/geo created\n"
    (post,) = world.writes()
    assert dict(post.query) == {"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"}
    assert world.ok("apply -f geo.yaml") == "deployment.apps/geo unchanged\n"
    assert not world.writes()
    world.files["geo.yaml"] = DEPLOYMENT.replace("geo:1", "geo:2").replace(', {name: B, value: "2"}', "")
    assert world.ok("apply -f geo.yaml") == "deployment.apps/geo configured\n"
    (patch,) = world.writes()
    (container,) = patch.body["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "geo:2"
    assert container["env"] == [{"$patch": "delete", "name": "B"}]
    path = "{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].env[*].name}"
    assert world.ok(f"get deploy geo -o jsonpath='{path}'") == "geo:2 A"


def test_apply_reads_standard_input_and_removes_what_is_gone(world: World) -> None:
    assert world.ok("apply -f -", CONFIG) == "configmap/c created\n"
    assert world.ok("apply -f -", CONFIG.replace(", z: '3'", "")) == "configmap/c configured\n"
    assert world.ok("get cm c -o jsonpath='{.data}'") == '{"x":"1"}'


def test_apply_goes_on_after_an_error(world: World) -> None:
    unknown = "---\napiVersion: nope/v1\nkind: Nope\nmetadata: {name: n}\n---\n"
    result = world.run("apply -f -", CONFIG + unknown + DEPLOYMENT)
    assert result.stdout == "configmap/c created\ndeployment.apps/geo created\n"
    assert 'no matches for kind "Nope" in version "nope/v1"' in result.stderr
    assert result.exit_code == 1


def test_apply_refuses_another_namespace(world: World) -> None:
    text = CONFIG.replace("{name: c}", "{name: c, namespace: shop}")
    assert world.run("apply -n other -f -", text).stderr == (
        'error: the namespace from the provided object "shop" does not match the namespace "other". '
        "You must pass '--namespace=shop' to perform this operation.\n"
    )


def test_apply_reports_unknown_fields_as_the_server_does(world: World) -> None:
    result = world.run("apply -f -", DEPLOYMENT.replace("replicas: 2", "replica: 2"))
    assert "strict decoding error: unknown field" in result.stderr
    assert result.stderr.startswith('Error from server (BadRequest): error when creating "STDIN": ')


def test_folders(world: World) -> None:
    assert world.ok("create -f dir") == "configmap/c created\n"
    assert world.run("create -f dir").stderr == (
        'Error from server (AlreadyExists): error when creating "dir/a.yaml": configmaps "c" already exists\n'
    )


def test_get_prints_tables_names_and_lists(world: World) -> None:
    world.ok("apply -f geo.yaml -f c.yaml")
    assert world.ok("get deploy") == (
        "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\ngeo    0/2     0            0           0s\n"
    )
    assert world.ok("get deploy/geo cm/c --no-headers").split() == [
        *("deployment.apps/geo", "0/2", "0", "0", "0s"),
        *("configmap/c", "2", "0s"),
    ]
    assert world.ok("get deploy,cm -o name") == "deployment.apps/geo\nconfigmap/c\n"
    assert world.ok("get cm -o yaml").startswith("apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    x: ")
    assert world.ok("get cm nope --ignore-not-found") == ""
    missing = world.run("get deploy geo nope")
    assert "geo" in missing.stdout
    assert missing.stderr == 'Error from server (NotFound): deployments.apps "nope" not found\n'


def test_get_watch_ends_after_thirty_simulated_seconds(world: World) -> None:
    world.ok("apply -f c.yaml")
    started = world.now
    assert world.ok("get cm -w").startswith("NAME")
    assert world.now - started == 30 * SECOND


def test_set_and_scale_and_patch(world: World) -> None:
    world.ok("apply -f geo.yaml")
    assert world.ok("set image deploy/geo geo=geo:9") == "deployment.apps/geo image updated\n"
    assert world.writes()[0].body["spec"]["template"]["spec"]["containers"] == [{"image": "geo:9", "name": "geo"}]
    assert world.ok("set env deploy/geo C=3 A-") == "deployment.apps/geo env updated\n"
    assert world.ok("set env deploy/geo --list") == "# Deployment geo, container geo\nB=2\nC=3\n"
    assert world.ok("set resources deploy/geo --limits=cpu=100m") == (
        "deployment.apps/geo resource requirements updated\n"
    )
    assert world.ok("scale deploy/geo --replicas=3") == "deployment.apps/geo scaled\n"
    assert world.run("scale deploy/geo --replicas=1 --current-replicas=9").stderr == (
        "error: Expected replicas to be 9, was 3\n"
    )
    patch = """patch deploy geo -p '{"spec":{"replicas":4}}'"""
    assert world.ok(patch) == "deployment.apps/geo patched\n"
    assert world.ok(patch) == "deployment.apps/geo patched (no change)\n"
    assert world.run("set image deploy/geo nope=x").stderr == 'error: unable to find container named "nope"\n'


def test_labels_and_annotations(world: World) -> None:
    world.ok("apply -f c.yaml")
    assert world.ok("label cm c tier=db") == "configmap/c labeled\n"
    assert world.run("label cm c tier=x").stderr == "error: 'tier' already has a value (db), and --overwrite is false\n"
    assert world.ok("label cm c tier=x --overwrite") == "configmap/c labeled\n"
    assert world.ok("label cm c tier=x") == "configmap/c not labeled\n"
    assert world.ok("label cm c tier-") == "configmap/c unlabeled\n"
    assert world.ok("label cm c tier-") == 'label "tier" not found.\nconfigmap/c not labeled\n'
    assert world.ok("annotate cm c owner=me") == "configmap/c annotated\n"


def test_create_and_delete(world: World) -> None:
    assert world.ok("create deployment web --image=nginx:1 --replicas=2") == "deployment.apps/web created\n"
    assert world.ok("create cm extra --from-literal=a=1") == "configmap/extra created\n"
    assert world.ok("create secret generic s --from-literal=t=abc") == "secret/s created\n"
    assert world.ok("get secret s -o jsonpath='{.data.t}'") == "YWJj"
    assert world.ok("create service clusterip web --tcp=80:8080") == "service/web created\n"
    assert world.ok("delete cm/extra deploy/web") == 'configmap "extra" deleted\ndeployment.apps "web" deleted\n'
    assert world.run("delete cm extra").stderr == 'Error from server (NotFound): configmaps "extra" not found\n'
    assert world.ok("delete cm extra --ignore-not-found") == ""
    assert world.ok("run tmp --image=busybox -- sleep 9") == "pod/tmp created\n"
    forced = world.run("delete pod tmp --force --grace-period=0")
    assert forced.stdout == 'pod "tmp" force deleted\n'
    assert forced.stderr.startswith("Warning: Immediate deletion does not wait for confirmation")


def test_delete_waits_for_finalizers(world: World) -> None:
    world.ok("apply -f c.yaml")
    world.ok("""patch cm c -p '{"metadata":{"finalizers":["example.com/hold"]}}'""")
    result = world.run("delete cm c --timeout=2s")
    assert result.stdout == 'configmap "c" deleted\n'
    assert result.stderr == "error: timed out waiting for the condition on configmaps/c\n"
    assert world.now == 2 * SECOND


def test_rollout_status_times_out(world: World) -> None:
    world.ok("apply -f geo.yaml")
    result = world.run("rollout status deploy/geo --timeout=2s")
    assert result.stdout == "Waiting for deployment spec update to be observed...\n"
    assert result.stderr == "error: timed out waiting for the condition\n"
    assert world.run("rollout status deploy/nope").stderr == (
        'Error from server (NotFound): deployments.apps "nope" not found\n'
    )


def test_rollout_restart_and_pause(world: World) -> None:
    world.ok("apply -f geo.yaml")
    assert world.ok("rollout restart deploy/geo") == "deployment.apps/geo restarted\n"
    assert world.ok("rollout pause deploy/geo") == "deployment.apps/geo paused\n"
    assert world.run("rollout pause deploy/geo").stderr == 'error: deployments.apps "geo" is already paused\n'
    assert world.ok("rollout resume deploy/geo") == "deployment.apps/geo resumed\n"


def test_wait(world: World) -> None:
    world.ok("run p --image=busybox")
    assert world.ok("wait --for=jsonpath='{.status.phase}'=Pending pod/p --timeout=1s") == "pod/p condition met\n"
    assert world.run("wait --for=condition=Ready pod/p --timeout=1s").stderr == (
        "error: timed out waiting for the condition on pods/p\n"
    )


def test_nodes_are_cordoned_and_tainted(world: World) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "spec": {}, "status": {}}
    world.api.handle(Request("POST", "/api/v1/nodes", body=node))
    assert world.ok("cordon n1") == "node/n1 cordoned\n"
    assert world.ok("cordon n1") == "node/n1 already cordoned\n"
    assert world.ok("uncordon n1") == "node/n1 uncordoned\n"
    assert world.ok("taint node n1 dedicated=gpu:NoSchedule") == "node/n1 tainted\n"
    assert world.run("taint node n1 dedicated=gpu:NoSchedule").exit_code == 1
    assert world.ok("taint node n1 dedicated-") == "node/n1 untainted\n"
    assert world.run("taint node n1 dedicated-").stderr == 'error: taint "dedicated" not found\n'
    assert world.ok("drain n1 --ignore-daemonsets") == "node/n1 cordoned\nnode/n1 drained\n"


def test_client_dry_run_changes_nothing(world: World) -> None:
    world.ok("apply -f geo.yaml")
    assert world.ok("scale deploy geo --replicas=9 --dry-run=client") == "deployment.apps/geo scaled (dry run)\n"
    assert world.ok("create cm x --from-literal=a=1 --dry-run=client -o yaml") == (
        'apiVersion: v1\ndata:\n  a: "1"\nkind: ConfigMap\nmetadata:\n  creationTimestamp: null\n  name: x\n'
    )
    assert not world.writes()
    assert world.ok("get deploy geo -o jsonpath='{.spec.replicas}'") == "2"


def test_reading_changes_nothing(world: World) -> None:
    world.ok("apply -f geo.yaml -f c.yaml")
    before = world.api.store.version
    for line in ("get all", "describe deploy geo", "describe cm c", "events", "api-resources", "get deploy -o yaml"):
        world.ok(line)
    assert world.api.store.version == before
    assert world.now == 0


def test_kubectl_can_be_pickled(world: World) -> None:
    kubectl = Kubectl(world.api, world)
    kubectl.run("get pods")
    pickle.dumps(kubectl._discovery)


def test_diff_prints_what_would_change(world: World) -> None:
    fresh = world.run("diff -f c.yaml")
    assert fresh.exit_code == 1
    assert fresh.stdout.startswith("diff -u -N /tmp/LIVE-")
    assert "@@ -0,0 +1,10 @@\n+apiVersion: v1\n" in fresh.stdout
    assert world.run("get cm c").exit_code == 1
    world.ok("apply -f c.yaml")
    assert world.ok("diff -f c.yaml") == ""
    changed = world.run("diff -f -", CONFIG.replace("'1'", "'2'"))
    assert ' data:\n-  x: "1"\n+  x: "2"\n   z: "3"\n' in changed.stdout
    assert world.run("diff -f nothere").exit_code == 2


def test_diff_hides_the_values_of_secrets(world: World) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: YQ==, b: Yg==}\n"
    assert "-null\n" in world.run("diff -f -", secret).stdout
    world.ok("apply -f -", secret)
    shown = world.run("diff -f -", secret.replace("YQ==", "Yw==")).stdout
    assert "-  a: '*** (before)'\n+  a: '*** (after)'\n   b: '***'\n" in shown


def test_prune_deletes_what_is_no_longer_in_the_files(world: World) -> None:
    labelled = CONFIG.replace("{name: c}", "{name: c, labels: {app: x}}")
    world.ok("apply -f -", labelled)
    world.ok("apply -f -", labelled.replace("name: c,", "name: d,"))
    assert world.run("apply -f - --prune", labelled).stderr.startswith("error: all resources selected for prune")
    assert world.ok("apply -f - --prune -l app=x --dry-run=server", labelled) == (
        "configmap/c unchanged (server dry run)\nconfigmap/d pruned (server dry run)\n"
    )
    warned = world.run("apply -f - --prune -l app=x -n default", labelled)
    assert warned.stdout == "configmap/c unchanged\nconfigmap/d pruned\n"
    assert "prune.go:71] Deprecated: kubectl apply will no longer prune" in warned.stderr


def test_server_side_apply_takes_over_from_the_client(world: World) -> None:
    world.ok("apply -f c.yaml")
    world.ok("apply -f c.yaml --server-side --field-manager=other --force-conflicts")
    found = world.ok(
        "get cm c -o jsonpath='{.metadata.managedFields[*].manager} {.metadata.annotations}' --show-managed-fields"
    )
    assert found == "other "
    assert world.ok("apply view-last-applied cm c") == ""


def test_force_makes_an_object_anew(world: World) -> None:
    world.ok("apply -f geo.yaml")
    other = DEPLOYMENT.replace("app: geo}", "app: other}")
    assert world.run("apply -f -", other).exit_code == 1
    uid = world.ok("get deploy geo -o jsonpath='{.metadata.uid}'")
    assert world.ok("apply -f - --force", other) == "deployment.apps/geo configured\n"
    assert world.ok("get deploy geo -o jsonpath='{.metadata.uid}'") != uid
    assert world.ok("replace -f - --force", other) == ('deployment.apps "geo" deleted\ndeployment.apps/geo replaced\n')


def test_delete_asks_when_it_should(world: World) -> None:
    world.ok("apply -f c.yaml")
    refused = world.ok("delete cm c -i", "n\n")
    assert refused.endswith("ConfigMap/c\nDo you want to continue? (y/N): deletion is cancelled\n")
    assert world.ok("delete cm c -i", "y\n").endswith('configmap "c" deleted\n')


def test_autoscale(world: World) -> None:
    world.ok("apply -f geo.yaml")
    line = "autoscale deploy geo --min=1 --max=3 --cpu-percent=80"
    assert world.ok(line) == "horizontalpodautoscaler.autoscaling/geo autoscaled\n"
    assert world.run(line).stderr == (
        'Error from server (AlreadyExists): horizontalpodautoscalers.autoscaling "geo" already exists\n'
    )
    assert world.run("autoscale deploy geo --max=0").stderr == (
        "error: --max=MAXPODS is required and must be at least 1, max: 0\n"
    )
    assert world.run("autoscale deploy geo --cpu=80%").stderr.startswith("error: unknown flag: --cpu\n")


def test_create_of_access_and_network(world: World) -> None:
    rules = world.ok(
        "create role r --verb=get,list,get --resource=pods,deploy,pods/log --dry-run=client -o jsonpath='{.rules}'"
    )
    assert rules == (
        '[{"apiGroups":[""],"resources":["pods","pods/log"],"verbs":["get","list"]},'
        '{"apiGroups":["apps"],"resources":["deployments"],"verbs":["get","list"]}]'
    )
    ingress = (
        "create ingress web --rule='a.com/x*=svc:80,tls=cert' --class=nginx --dry-run=client -o jsonpath='{.spec}'"
    )
    assert world.ok(ingress) == (
        '{"ingressClassName":"nginx","rules":[{"host":"a.com","http":{"paths":[{"backend":{"service":{"name":"svc",'
        '"port":{"number":80}}},"path":"/x","pathType":"Prefix"}]}}],"tls":[{"hosts":["a.com"],"secretName":"cert"}]}'
    )
    registry = "create secret docker-registry r --docker-username=u --docker-password=p --dry-run=client"
    assert world.ok(f"{registry} -o jsonpath='{{.type}}'") == "kubernetes.io/dockerconfigjson"
    assert world.run("create ingress web").stderr.startswith("error: not enough information provided")
    assert world.run("create rolebinding b --user=x").stderr == (
        "error: exactly one of clusterrole or role must be specified\n"
    )


def test_the_namespace_of_the_context_can_be_changed(world: World) -> None:
    assert world.ok("config set-context --current --namespace=shop") == 'Context "prod-eu-1" modified.\n'
    assert world.run("get pods").stderr == "No resources found in shop namespace.\n"
    assert world.ok("config view --minify -o jsonpath='{..namespace}'") == "shop"
    assert world.ok("config get-contexts --no-headers").split()[-1] == "shop"


def test_another_server_does_not_answer(world: World) -> None:
    refused = world.run("get pods --server=https://127.0.0.1:1 --request-timeout=2s").stderr
    assert refused.count("memcache.go:265]") == 5
    assert refused.endswith(
        "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?\n"
    )
    assert world.run("get pods --user=x").stderr == 'error: auth info "x" does not exist\n'


def test_watches_print_each_object(world: World) -> None:
    world.ok("apply -f c.yaml")
    assert world.ok("get cm -w -o name") == "configmap/c\n"
    assert world.ok("get cm --watch-only") == ""
    assert world.ok("get cm -w --output-watch-events").startswith("EVENT   NAME")
    assert world.run("get cm a b -w").stderr.startswith("error: watch is only supported on individual resources")


def test_lists_of_labels(world: World) -> None:
    world.ok("apply -f c.yaml -f geo.yaml")
    assert world.ok("label deploy geo --list") == "app=geo\n"
    assert world.ok("label deploy --all --list") == "Listing labels for Deployment.apps/geo:\n app=geo\n"


class Editor:
    """An editor that replaces words."""

    def __init__(self, old: str, new: str) -> None:
        self.old = old
        self.new = new
        self.seen = ""

    def edit(self, text: str, suffix: str) -> str:
        self.seen = text
        return text.replace(self.old, self.new)


def test_edit(world: World) -> None:
    world.ok("apply -f c.yaml")
    assert world.run("edit cm c").stderr == 'error: unable to launch the editor "vi"\n'
    editor = world.kubectl.workstation = Editor('x: "1"', 'x: "7"')
    assert world.ok("edit cm c") == "configmap/c edited\n"
    assert editor.seen.startswith("# Please edit the object below.")
    assert world.ok("get cm c -o jsonpath='{.data.x}'") == "7"
    assert world.run("edit cm c").stderr == "Edit cancelled, no changes made.\n"
