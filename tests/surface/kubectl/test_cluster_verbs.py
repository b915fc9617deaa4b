"""Verbs that need a living cluster: pods that start, controllers that act, nodes that are emptied."""

from __future__ import annotations

import base64

import pytest

from simcluster.engine import SECOND, Snapshot
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.protocols import Outcome
from simcluster.world.world import World

SETS = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: agent, image: "busybox:1.36", command: [sleep, "9999"]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""
#: A PEM block of the right type with nothing in it.
REQUEST = base64.b64encode(b"-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n").decode()
WEB = "create deployment web --image=busybox:1.36 --replicas=2 -- sleep 9999"


class Cluster:
    """A world, and somebody who types."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kubectl: Kubectl = world.kubectl()

    def run(self, line: str, stdin: str = "") -> Outcome:
        return self.kubectl.run(line, stdin)

    def ok(self, line: str, stdin: str = "") -> str:
        result = self.run(line, stdin)
        assert result.exit_code == 0, result
        return result.stdout


@pytest.fixture(scope="module")
def booted() -> Snapshot[World]:
    world = World(0)
    world.run_for(40 * SECOND)
    return Snapshot(world)


@pytest.fixture
def cluster(booted: Snapshot[World]) -> Cluster:
    return Cluster(booted.restore())


def test_run_stays_attached_and_removes_the_pod(cluster: Cluster) -> None:
    line = "run tmp --rm -it --image=busybox:1.36 --restart=Never -- sh -c"
    done = cluster.run(f"{line} 'echo hello'")
    assert done.stdout == 'hello\npod "tmp" deleted\n'
    assert done.stderr.startswith("Unable to use a TTY - input is not a terminal or the right kind of file\n")
    failed = cluster.run(f"{line} 'echo oops; exit 3'")
    assert failed.stdout == 'oops\npod "tmp" deleted\n'
    assert failed.stderr.endswith("pod default/tmp terminated (Error)\n")
    assert failed.exit_code == 3


def test_run_refuses_what_cannot_be(cluster: Cluster) -> None:
    assert cluster.run("run x --image=b --rm").stderr.startswith(
        "error: --rm should only be used for attached containers"
    )
    assert cluster.run("run x --image=b -t").stderr.startswith("error: -i/--stdin is required for containers with -t")
    with_dry_run = cluster.run("run x --image=b -i --dry-run=client")
    assert "can't be used with attached containers options" in with_dry_run.stderr


def test_debug_adds_an_ephemeral_container(cluster: Cluster) -> None:
    cluster.ok("run tmp --image=busybox:1.36 -- sleep 9999")
    cluster.ok("wait --for=condition=Ready pod/tmp")
    quiet = cluster.run("debug tmp --image=busybox:1.36 -c dbg -- sleep 5")
    assert quiet.stdout == ""
    assert quiet.stderr.startswith("--profile=legacy is deprecated and will be removed in the future.")
    attached = cluster.run("debug tmp -i --image=busybox:1.36 --profile=general --target=tmp -c two -- hostname")
    assert attached.stdout.startswith('Targeting container "tmp".')
    assert attached.stdout.endswith("\ntmp\n")
    page = cluster.ok("describe pod tmp")
    assert "Ephemeral Containers:\n  dbg:\n" in page
    assert "Created container: dbg" in page
    assert cluster.ok("logs tmp -c two") == "tmp\n"
    path = "{.spec.ephemeralContainers[1].securityContext.capabilities.add}"
    assert cluster.ok(f"get pod tmp -o jsonpath='{path}'") == '["SYS_PTRACE"]'
    seen = cluster.run("debug tmp -i --image=busybox:1.36 --profile=general --target=tmp -c three -- ps").stdout
    assert "sleep 9999" in seen
    assert seen.endswith(" ps\n")


def test_debug_makes_a_pod_on_a_node(cluster: Cluster) -> None:
    made = cluster.ok("debug node/worker-1 --image=busybox:1.36 --profile=sysadmin -- sleep 99")
    name = made.split()[3]
    assert made == f"Creating debugging pod {name} with container debugger on node worker-1.\n"
    spec = cluster.ok(
        f"get pod {name} -o jsonpath='{{.spec.nodeName}} {{.spec.hostPID}} {{.spec.volumes[0].hostPath}}'"
    )
    assert spec == 'worker-1 true {"path":"/","type":""}'


def test_debug_copies_a_pod(cluster: Cluster) -> None:
    cluster.ok("run tmp --image=busybox:1.36 -- sleep 9999")
    cluster.ok("debug tmp --copy-to=copy --set-image=*=busybox:1.37 --profile=general")
    assert cluster.ok("get pod copy -o jsonpath='{.spec.containers[*].image}'") == "busybox:1.37"
    assert cluster.run("debug tmp --set-image=*=x").stderr == "error: --set-image may only be used with --copy-to.\n"


def test_history_of_daemon_sets(cluster: Cluster) -> None:
    cluster.ok("apply -f -", SETS)
    cluster.ok("rollout status ds/agent --timeout=60s")
    cluster.ok("set image ds/agent agent=busybox:1.37")
    cluster.ok("rollout status ds/agent --timeout=60s")
    assert cluster.ok("rollout history ds/agent") == (
        "daemonset.apps/agent \nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n\n"
    )
    assert "    Image:\tbusybox:1.36\n" in cluster.ok("rollout history ds/agent --revision=1")
    assert cluster.ok("rollout undo ds/agent") == "daemonset.apps/agent rolled back\n"
    assert cluster.run("rollout undo ds/agent --to-revision=9").stderr == (
        "error: unable to find specified revision 9 in history\n"
    )
    assert cluster.ok("get ds agent -o jsonpath='{.spec.template.spec.containers[0].image}'") == "busybox:1.36"


def test_drain_tries_again_until_the_time_is_up(cluster: Cluster) -> None:
    cluster.ok("apply -f -", SETS)
    cluster.ok(WEB)
    cluster.ok("rollout status deploy/web --timeout=60s")
    node = cluster.ok("get pod -l app=web -o jsonpath='{.items[0].spec.nodeName}'")
    (pod,) = cluster.ok(f"get pod -l app=web --field-selector=spec.nodeName={node} -o name").split()
    refused = cluster.run(f"drain {node} --pod-selector=app=web --timeout=7s")
    assert refused.stdout == f"node/{node} cordoned\n" + f"evicting {pod.replace('/', ' default/')}\n" * 3
    name = pod.removeprefix("pod/")
    assert refused.stderr.count(f'error when evicting pods/"{name}" -n "default" (will retry after 5s): ') == 2
    assert refused.stderr.endswith(f'error when evicting pods/"{name}" -n "default": global timeout reached: 7s\n')
    cluster.ok("delete pdb web")
    assert cluster.run(f"drain {node}").stderr.startswith(f'error: unable to drain node "{node}" due to error: ')
    done = cluster.run(f"drain {node} --ignore-daemonsets --delete-emptydir-data --force")
    assert done.exit_code == 0
    assert done.stdout.endswith(f"{pod} evicted\nnode/{node} drained\n")
    assert "ignoring DaemonSet-managed Pods: default/agent-" in done.stderr


def test_scale_waits_with_a_timeout(cluster: Cluster) -> None:
    cluster.ok(WEB)
    assert cluster.ok("scale deploy web --replicas=3 --timeout=30s") == "deployment.apps/web scaled\n"
    assert cluster.ok("get deploy web -o jsonpath='{.status.replicas}'") == "3"


def test_what_blocks_ends_after_thirty_seconds(cluster: Cluster) -> None:
    cluster.ok(WEB)
    cluster.ok("rollout status deploy/web --timeout=60s")
    before = cluster.world.sim.now
    assert cluster.ok("port-forward deploy/web 8080:80") == (
        "Forwarding from 127.0.0.1:8080 -> 80\nForwarding from [::1]:8080 -> 80\n"
    )
    assert cluster.ok("proxy --port=8009") == "Starting to serve on 127.0.0.1:8009\n"
    assert cluster.world.sim.now - before == 60 * SECOND


def test_tokens_and_certificates(cluster: Cluster) -> None:
    assert cluster.ok("create token default").count(".") == 2
    assert cluster.run("create token nope").stderr == (
        'error: failed to create token: serviceaccounts "nope" not found\n'
    )
    request = (
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: bob}\n"
        f"spec: {{request: {REQUEST}, signerName: example.com/x, usages: [client auth]}}\n"
    )
    cluster.ok("create -f -", request)
    done = cluster.ok("certificate approve bob")
    assert done == "certificatesigningrequest.certificates.k8s.io/bob approved\n"
    assert cluster.ok("get csr bob -o jsonpath='{.status.conditions[0].reason}'") == "KubectlApprove"


def test_copying_files(cluster: Cluster) -> None:
    cluster.ok(WEB)
    cluster.world.run_for(10 * SECOND)
    pod = cluster.ok("get pods -o name").split()[0].removeprefix("pod/")
    files = {"notes.txt": "hello\n"}
    assert cluster.kubectl.run(f"cp notes.txt {pod}:/tmp", files=files).exit_code == 0
    assert cluster.ok(f"exec {pod} -- cat /tmp/notes.txt") == "hello\n"
    back = cluster.kubectl.run(f"cp default/{pod}:/tmp/notes.txt copy.txt", files=files)
    assert (back.exit_code, files["copy.txt"]) == (0, "hello\n")
    assert back.stderr == "tar: removing leading '/' from member names\n"
    missing = cluster.run(f"cp {pod}:/nope /dev/stdout")
    assert missing.exit_code == 1
    assert "tar: nope: No such file or directory\n" in missing.stderr
    assert cluster.run("cp a b").stderr == "error: one of src or dest must be a remote file specification\n"
    assert cluster.run("cp a:/x b").stderr == 'Error from server (NotFound): pods "a" not found\n'


def test_dump(cluster: Cluster) -> None:
    cluster.ok("run one --image=busybox:1.36 --restart=Never -- echo words")
    cluster.world.run_for(10 * SECOND)
    text = cluster.ok("cluster-info dump --namespaces=default")
    kinds = [line.split('"')[3] for line in text.splitlines() if line.startswith('    "kind"')]
    assert kinds == ["NodeList", *(f"{k}List" for k in ("Event", "ReplicationController", "Service", "DaemonSet"))] + [
        f"{k}List" for k in ("Deployment", "ReplicaSet", "Pod")
    ]
    assert "==== START logs for container one of pod default/one ====\nwords\n==== END" in text
