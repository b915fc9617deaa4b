"""The scripted session: sixty operations, one after the other, as an operator types them into kubectl.

An operation passes if its exit code is the real server's and its output (both streams) matches; what a real server
answers stands in the recordings of this repository or follows from kubectl's own source.
"""

from __future__ import annotations

from typing import NamedTuple

#: What WebSockets carry; kubectl speaks SPDY alone before 1.31 (exec, attach, cp: 1.30 by default off).
STREAMS = 31


class Operation(NamedTuple):
    """One operation.

    Attributes:
        name: under which the table lists it; libraries name their calls alike.
        script: of a shell, in a folder with the manifests.
        shows: what the output has to match (a regular expression).
        code: the script's exit code.
        since: the first minor version of kubectl that can do it against this server.
    """

    name: str
    script: str
    shows: str
    code: int = 0
    since: int = 0


OPERATIONS = (
    Operation("version", "kubectl version", r"Server Version: v1\.32"),
    Operation("api-resources", "kubectl api-resources", r"deployments +deploy +apps/v1 +true +Deployment"),
    Operation("explain", "kubectl explain deployment.spec.replicas", r"FIELD: replicas <integer>"),
    Operation("whoami", "kubectl auth whoami", r"Username +oncall"),
    Operation("can-i", "kubectl auth can-i delete pods; kubectl auth can-i list pods --as=nobody", r"yes\nno", 1),
    Operation("get nodes", "kubectl get nodes -o wide", r"worker-1 +Ready .* containerd://"),
    Operation("create namespace", "kubectl create namespace shop", r"namespace/shop created"),
    Operation("create secret", "kubectl create secret generic key -n shop --from-literal=a=b", r"secret/key created"),
    Operation("apply", "kubectl apply -f web.yaml -f pods.yaml", r"deployment.apps/web created(.|\n)*pod/box created"),
    Operation("wait", "kubectl wait --for=condition=Available deploy/web --timeout=120s", r"web condition met"),
    Operation("rollout status", "kubectl rollout status deploy/web", r'"web" successfully rolled out'),
    Operation("wait pods", "kubectl wait --for=condition=Ready pod/box pod/talker", r"pod/box condition met"),
    Operation("get", "kubectl get deployments,services", r"deployment.apps/web +2/2 +2 +2"),
    Operation("get -o wide", "kubectl get pods -o wide -l app=web", r"1/1 +Running +0 +\S+ +10\.\S+ +worker"),
    Operation("get -o json", "kubectl get configmap page -o json", r'"greeting": "hello"'),
    Operation("get -o yaml", "kubectl get service web -o yaml", r"targetPort: 80"),
    Operation("get -o jsonpath", "kubectl get deploy web -o jsonpath='{.status.readyReplicas}'", r"^2$"),
    Operation("get --sort-by", "kubectl get pods -A --sort-by=.metadata.name --no-headers", r"shop|default +box"),
    Operation("get --raw", "kubectl get --raw '/api/v1/namespaces/default/pods?limit=1'", r'"continue":"'),
    Operation("get missing", "kubectl get pod nope", r'Error from server \(NotFound\): pods "nope" not found', 1),
    Operation("get --watch", "kubectl get pods box --watch --request-timeout=20s", r"box +1/1 +Running"),
    Operation("describe deployment", "kubectl describe deploy web", r"ScalingReplicaSet +\S+ +deployment-controller"),
    Operation("describe pod", "kubectl describe pod box", r"Successfully assigned default/box to worker-\d"),
    Operation("describe node", "kubectl describe node worker-1", r"Allocated resources:(.|\n)*cpu "),
    Operation("events", "kubectl events --for pod/box", r"Scheduled +Pod/box"),
    Operation("logs", "kubectl logs talker --tail=1 --timestamps", r"^2026-\S+Z tick"),
    Operation("logs -p", "kubectl logs -p crash", r"about to fail"),
    Operation("logs -f", "kubectl logs -f job/once", r"step 1\nstep 2\ndone"),
    Operation(
        "exec", "kubectl exec box -- sh -c 'echo out; echo err >&2; exit 3'", r"out\n(.|\n)*exit code 3", 3, STREAMS
    ),
    Operation("exec -i", "echo typed | kubectl exec -i box -- cat", r"^typed\n$", 0, STREAMS),
    Operation("attach", "grep -m1 tick < <(timeout 60 kubectl attach talker 2>/dev/null)", r"tick", 0, STREAMS),
    Operation(
        "cp to", "kubectl cp web.yaml box:/tmp/w && kubectl exec box -- head -1 /tmp/w", "apiVersion", 0, STREAMS
    ),
    Operation("cp from", "kubectl cp box:/tmp/w back && cmp back web.yaml && echo same", r"same", 0, STREAMS),
    Operation(
        "port-forward",
        "kubectl port-forward svc/web :80 >said & p=$!; until grep -q Forw said; do sleep 0.05; done;"
        " curl -sif localhost:$(sed -n 's/.*127.0.0.1:\\([0-9]*\\).*/\\1/p' said | head -1)/; kill $p",
        r"HTTP/1.1 200 OK",
        0,
        STREAMS,
    ),
    Operation(
        "proxy",
        "kubectl proxy --port=0 >said & p=$!; until grep -q on said; do sleep 0.05; done;"
        " curl -sif $(sed 's/.* on //' said)/api/v1/namespaces/default/services/web/proxy/; kill $p",
        r"HTTP/1.1 200 OK",
    ),
    Operation("apply --server-side", "kubectl apply --server-side -f map.yaml", r"configmap/map serverside-applied"),
    Operation(
        "apply conflict", "kubectl apply --server-side --field-manager=b -f map2.yaml", r"Apply failed with 1 conf", 1
    ),
    Operation(
        "diff", "sed 's/replicas: 2/replicas: 3/' web.yaml | kubectl diff -f -", r"-  replicas: 2\n\+  replicas: 3", 1
    ),
    Operation("patch strategic", """kubectl patch deploy web -p '{"spec":{"minReadySeconds":1}}'""", r"web patched$"),
    Operation("patch merge", """kubectl patch cm page --type=merge -p '{"data":{"b":"c"}}'""", r"page patched$"),
    Operation(
        "patch json",
        """kubectl patch cm page --type=json -p '[{"op":"remove","path":"/data/b"}]'""",
        r"page patched$",
    ),
    Operation("scale", "kubectl scale deploy web --replicas=3", r"web scaled"),
    Operation("autoscale", "kubectl autoscale deploy web --min=3 --max=4 --cpu-percent=80", r"web autoscaled"),
    Operation("set image", "kubectl set image deploy/web web=nginx:1.28", r"web image updated"),
    Operation("set env", "kubectl set env deploy/web MODE=fast", r"web env updated"),
    Operation("rollout history", "kubectl rollout history deploy/web", r"REVISION(.|\n)*3"),
    Operation(
        "rollout undo", "kubectl rollout undo deploy/web && kubectl rollout status deploy/web", r"web rolled back"
    ),
    Operation("rollout restart", "kubectl rollout restart deploy/web", r"web restarted"),
    Operation(
        "label, annotate", "kubectl label pod box a=b; kubectl annotate pod box c=d", r"box labeled\npod/box annotated"
    ),
    Operation("expose", "kubectl expose deploy web --name=second --port=80", r"service/second exposed"),
    Operation("run", "kubectl run extra --image=busybox --restart=Never -- sleep 600", r"pod/extra created"),
    Operation(
        "debug", "kubectl debug box --image=busybox --container=aid -- sleep 5 && kubectl get pod box -o yaml", "aid"
    ),
    Operation("edit", "KUBE_EDITOR='sed -i s/hello/changed/' kubectl edit configmap page", r"page edited"),
    Operation("replace", "kubectl get cm page -o json | sed s/changed/again/ | kubectl replace -f -", r"page replaced"),
    Operation("top", "kubectl top nodes && kubectl top pods", r"worker-1 +\d+m(.|\n)*talker +\d+m"),
    Operation("create job", "kubectl create job now --from=cronjob/nightly", r"job.batch/now created"),
    Operation("create token", "kubectl create token default", r"^eyJ[\w-]+\.[\w-]+\.[\w-]+$"),
    Operation(
        "taint", "kubectl taint node worker-1 a=b:NoSchedule && kubectl taint node worker-1 a-", r"tainted\n.*untainted"
    ),
    Operation(
        "cordon, drain",
        "kubectl drain worker-2 --ignore-daemonsets --delete-emptydir-data --force --timeout=60s"
        " && kubectl uncordon worker-2",
        r"worker-2 cordoned(.|\n)*worker-2 drained\nnode/worker-2 uncordoned",
    ),
    Operation(
        "delete", "kubectl delete -f web.yaml -f map.yaml && kubectl delete namespace shop", r'namespace "shop" deleted'
    ),
)

MANIFESTS = {
    "web.yaml": """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1.27", ports: [{containerPort: 80}], resources: {requests: {cpu: 50m}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: page}
data: {greeting: hello}
""",
    "pods.yaml": """\
apiVersion: v1
kind: Pod
metadata: {name: box}
spec: {terminationGracePeriodSeconds: 1, containers: [{name: c, image: busybox, command: [sleep, "36000"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: talker}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: busybox, command: [sh, -c, "while true; do echo tick; sleep 1; done"]}
---
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec: {containers: [{name: c, image: busybox, command: [sh, -c, "echo about to fail; exit 1"]}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: c, image: busybox, command: [sh, -c, "for i in 1 2; do echo step $i; sleep 1; done; echo done"]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: ["true"]}]}}
""",
    "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: default}\ndata: {a: one}\n",
    "map2.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map, namespace: default}\ndata: {a: two}\n",
}
