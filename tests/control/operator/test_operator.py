"""An operator of one's own: a pod whose logic lives as long as it runs, may and can."""

import pytest

from simcluster.control.operator import Operator
from simcluster.engine import SECOND
from simcluster.world import World

IMAGE = "ghcr.io/example/greeter:v1"
MANIFESTS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: greetings.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: greetings, singular: greeting, kind: Greeting}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, required: [who], properties: {who: {type: string, minLength: 1}}}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: greeter}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: greeter}
rules:
  - {apiGroups: [example.com], resources: [greetings, greetings/status], verbs: [get, list, watch, patch, update]}
  - {apiGroups: [""], resources: [configmaps, events], verbs: [get, list, watch, create, patch, update]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: greeter}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: greeter}
subjects: [{kind: ServiceAccount, name: greeter, namespace: default}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: greeter}
spec:
  replicas: 1
  selector: {matchLabels: {app: greeter}}
  template:
    metadata: {labels: {app: greeter}}
    spec:
      serviceAccountName: greeter
      containers: [{name: greeter, image: "ghcr.io/example/greeter:v1"}]
"""


class GreeterOperator(Operator):
    """Writes a ConfigMap with a greeting for everybody who is to be greeted."""

    name = "greeter"
    resource = "greetings.example.com"
    owns = ("configmaps",)
    lease = "greeter-leader"

    def sync(self, namespace: str, name: str) -> None:
        greeting = self.get(self.resource, namespace, name)
        if greeting is None:
            return
        text = f"Hello, {greeting['spec']['who']}!"
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
        if self.get("configmaps", namespace, name) is None:
            self.event(greeting, "Normal", "Greeted", f"said {text}")
        self.ensure("configmaps", greeting, config)
        self.set_status(greeting, {"greeted": greeting["spec"]["who"]})


def greeting(name, who):
    return f"apiVersion: example.com/v1\nkind: Greeting\nmetadata: {{name: {name}}}\nspec: {{who: {who}}}\n"


@pytest.fixture(scope="module")
def booted():
    world = World(0, workers=2)
    world.operators.add(IMAGE, GreeterOperator)
    world.apply(MANIFESTS)
    world.run_for(2 * SECOND)
    world.apply(greeting("one", "Ada"))
    world.run_for(15 * SECOND)
    return world


@pytest.fixture
def world(booted):
    return booted.fork()


def text(world, name):
    found = world.api.store.get("configmaps", "default", name)
    return None if found is None else found["data"]["text"]


def logs(world, *options):
    return world.kubectl().run(f"logs -l app=greeter --tail=-1 {' '.join(options)}").stdout


def test_it_reconciles_and_reports(world):
    assert text(world, "one") == "Hello, Ada!"
    assert world.api.store.get("greetings.example.com", "default", "one")["status"] == {"greeted": "Ada"}
    assert "said Hello, Ada!" in world.kubectl().run("get events").stdout
    world.kubectl().run("""patch greeting one --type=merge -p '{"spec":{"who":"Grace"}}'""")
    world.run_for(3 * SECOND)
    assert text(world, "one") == "Hello, Grace!"
    world.kubectl().run("delete configmap one")
    world.run_for(3 * SECOND)
    assert text(world, "one") == "Hello, Grace!"
    world.run_for(30 * SECOND)  # the garbage collector looks for new kinds every 30 s
    world.kubectl().run("delete greeting one")
    world.run_for(3 * SECOND)
    assert text(world, "one") is None  # garbage collection: the greeting owned it
    assert "successfully acquired lease default/greeter-leader" in logs(world)


def test_nothing_is_reconciled_while_its_pod_is_down(world):
    world.kubectl().run("scale deployment greeter --replicas=0")
    world.run_for(40 * SECOND)
    world.apply(greeting("two", "Alan"))
    world.run_for(60 * SECOND)
    assert text(world, "two") is None
    world.kubectl().run("scale deployment greeter --replicas=1")
    world.run_for(30 * SECOND)
    assert text(world, "two") == "Hello, Alan!"


def test_without_permission_it_says_so_and_tries_again(world):
    world.kubectl().run("delete clusterrolebinding greeter")
    world.kubectl().run("""patch greeting one --type=merge -p '{"spec":{"who":"Edsger"}}'""")
    world.run_for(3 * SECOND)
    refused = 'User "system:serviceaccount:default:greeter" cannot patch resource "configmaps" in API group ""'
    assert refused in logs(world)
    assert text(world, "one") == "Hello, Ada!"
    world.kubectl().run("create clusterrolebinding greeter --clusterrole=greeter --serviceaccount=default:greeter")
    world.run_for(30 * SECOND)
    assert text(world, "one") == "Hello, Edsger!"


def test_a_new_pod_without_permission_cannot_list(world):
    world.kubectl().run("delete clusterrolebinding greeter")
    world.kubectl().run("delete lease greeter-leader")
    world.kubectl().run("delete pod -l app=greeter")
    world.run_for(60 * SECOND)
    said = logs(world)
    assert "error retrieving resource lock default/greeter-leader: leases.coordination.k8s.io" in said
    world.kubectl().run("create clusterrolebinding greeter --clusterrole=edit --serviceaccount=default:greeter")
    world.apply(greeting("two", "Alan"))
    world.run_for(60 * SECOND)
    assert "Failed to watch *v1.Greeting: failed to list *v1.Greeting: greetings.example.com is forbidden" in logs(
        world
    )
    assert text(world, "two") is None


def test_network_policies_cut_it_off(world):
    world.apply(
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: none}\n"
        "spec: {podSelector: {matchLabels: {app: greeter}}, policyTypes: [Egress]}\n"
    )
    world.run_for(5 * SECOND)
    world.apply(greeting("two", "Alan"))
    world.run_for(30 * SECOND)
    assert text(world, "two") is None
    assert "i/o timeout" in logs(world)
    world.kubectl().run("delete networkpolicy none")
    world.run_for(120 * SECOND)
    assert text(world, "two") == "Hello, Alan!"


def test_one_of_several_replicas_leads(world):
    world.kubectl().run("scale deployment greeter --replicas=2")
    world.run_for(20 * SECOND)
    lease = world.api.store.get("leases.coordination.k8s.io", "default", "greeter-leader")["spec"]
    leader = lease["holderIdentity"].partition("_")[0]
    assert "lock is held by" in logs(world)
    world.kubectl().run(f"delete pod {leader} --grace-period=0 --force")
    world.run_for(4 * SECOND)
    world.apply(greeting("two", "Alan"))
    world.run_for(4 * SECOND)
    assert text(world, "two") is None  # the lease of the dead one has not run out
    world.run_for(20 * SECOND)
    assert text(world, "two") == "Hello, Alan!"
    spec = world.api.store.get("leases.coordination.k8s.io", "default", "greeter-leader")["spec"]
    assert spec["leaseTransitions"] == 1
    assert not spec["holderIdentity"].startswith(leader)


def test_no_token_no_operator(world):
    world.kubectl().run(
        """patch deployment greeter -p '{"spec":{"template":{"spec":{"automountServiceAccountToken":false}}}}'"""
    )
    world.run_for(30 * SECOND)
    assert "serviceaccount/token: no such file or directory" in logs(world)
    pods = world.kubectl().run("get pods -l app=greeter").stdout
    assert "Error" in pods or "CrashLoopBackOff" in pods


def test_forks_live_their_own_lives(world):
    twin = world.fork()
    twin.apply(greeting("two", "Alan"))
    twin.run_for(3 * SECOND)
    world.run_for(3 * SECOND)
    assert text(twin, "two") == "Hello, Alan!"
    assert text(world, "two") is None


def test_without_its_account_it_is_nobody(world):
    world.kubectl().run("delete serviceaccount greeter")
    world.kubectl().run("""patch greeting one --type=merge -p '{"spec":{"who":"Grace"}}'""")
    world.run_for(3 * SECOND)
    assert "Unauthorized" in logs(world)
    assert text(world, "one") == "Hello, Ada!"


def test_a_leader_without_api_server_gives_up_and_starts_anew(world):
    world.api.serving = False
    world.run_for(15 * SECOND)
    world.api.serving = True
    world.apply(greeting("two", "Alan"))
    world.run_for(40 * SECOND)
    assert text(world, "two") == "Hello, Alan!"
    before = logs(world, "--previous")
    assert "dial tcp 10.96.0.1:443: connect: connection refused" in before
    assert before.rstrip().endswith("leader election lost")
