# ruff: noqa: E501
"""The files that the lines of `operators.txt` work on, beside those of `fixture.py`: what an operator keeps at hand."""

from __future__ import annotations

FILES: dict[str, str] = {
    "pods.txt": (
        "NAMESPACE     NAME                        READY   STATUS             RESTARTS       AGE\n"
        "default       web-7d9c5b8f6d-2xkq4        1/1     Running            0              5d3h\n"
        "default       web-7d9c5b8f6d-9fmzp        1/1     Running            2 (3h ago)     5d3h\n"
        "default       api-6c8f9d7b5-lw2xc         0/1     CrashLoopBackOff   41 (2m ago)    3h12m\n"
        "shop          cart-0                      1/1     Running            0              12d\n"
        "shop          cart-1                      0/1     Pending            0              7m\n"
        "shop          redis-5f6d8c9b7-vt8rn       1/1     Running            1 (2d ago)     12d\n"
        "kube-system   coredns-668d6bf9bc-4x5gh    1/1     Running            0              30d\n"
        "kube-system   kube-proxy-8zq7m            1/1     Running            0              30d\n"
        "batch         job-1-x9k2p                 0/1     Completed          0              1h\n"
        "batch         job-2-m4n8q                 0/1     ImagePullBackOff   0              9m\n"
    ),
    "top.txt": (
        "NAME                    CPU(cores)   MEMORY(bytes)\n"
        "web-7d9c5b8f6d-2xkq4    12m          128Mi\n"
        "web-7d9c5b8f6d-9fmzp    250m         96Mi\n"
        "api-6c8f9d7b5-lw2xc     1m           512Mi\n"
        "cart-0                  33m          64Mi\n"
    ),
    "events.txt": (
        "LAST SEEN   TYPE      REASON             OBJECT                    MESSAGE\n"
        "2m          Warning   BackOff            pod/api-6c8f9d7b5-lw2xc   Back-off restarting failed container\n"
        "5m          Normal    Pulled             pod/cart-0                Container image already present\n"
        "7m          Warning   FailedScheduling   pod/cart-1                0/3 nodes are available\n"
        "9m          Warning   Failed             pod/job-2-m4n8q           Error: ImagePullBackOff\n"
    ),
    "access.log": (
        '10.0.0.1 - - [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 512 0.012\n'
        '10.0.0.2 - - [10/Oct/2024:13:55:37 +0000] "GET /cart HTTP/1.1" 500 21 1.204\n'
        '10.0.0.1 - bob [10/Oct/2024:13:55:39 +0000] "POST /checkout HTTP/1.1" 502 157 5.001\n'
        '10.0.0.3 - - [10/Oct/2024:13:56:01 +0000] "GET /static/a.css HTTP/1.1" 304 0 0.001\n'
        '10.0.0.2 - - [10/Oct/2024:13:56:02 +0000] "GET /cart HTTP/1.1" 200 733 0.044\n'
        '10.0.0.4 - - [10/Oct/2024:13:57:12 +0000] "GET /?q=a%20b HTTP/1.1" 404 9 0.002\n'
    ),
    "journal.txt": (
        "Oct 10 13:55:01 worker-1 kubelet[812]: I1010 13:55:01.123456     812 kubelet.go:2456] \"SyncLoop UPDATE\"\n"
        "Oct 10 13:55:02 worker-1 kubelet[812]: E1010 13:55:02.000001     812 pod_workers.go:1301] \"Error syncing pod\" err=\"timeout\"\n"
        "Oct 10 13:55:07 worker-1 systemd[1]: Started Session 4 of User root.\n"
        "Oct 10 13:56:10 worker-1 kernel: Out of memory: Killed process 4242 (java) total-vm:8123456kB\n"
        "Oct 10 13:56:11 worker-1 containerd[640]: time=\"2024-10-10T13:56:11Z\" level=error msg=\"failed\"\n"
        "Oct 10 13:57:00 worker-1 kubelet[812]: E1010 13:57:00.000009     812 kuberuntime.go:99] \"Failed\" err=\"timeout\"\n"
    ),
    "app.jsonl": (
        '{"ts":"2024-10-10T13:55:00Z","level":"info","msg":"start","svc":"cart","ms":3}\n'
        '{"ts":"2024-10-10T13:55:01Z","level":"error","msg":"dial tcp 10.0.0.9:6379: connection refused","svc":"cart","ms":1200}\n'
        '{"ts":"2024-10-10T13:55:04Z","level":"warn","msg":"retry","svc":"web","ms":88}\n'
        '{"ts":"2024-10-10T13:55:09Z","level":"error","msg":"timeout","svc":"web","ms":5000}\n'
    ),
    "deploy.yaml": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels:\n    app: web\nspec:\n  replicas: 2\n"
        "  template:\n    spec:\n      containers:\n      - name: web\n        image: nginx:1.25\n        ports:\n"
        "        - containerPort: 8080\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n"
    ),
    "deploy.json": (
        '{"apiVersion":"v1","kind":"List","items":['
        '{"kind":"Deployment","metadata":{"name":"web","namespace":"default","creationTimestamp":"2024-10-05T10:00:00Z"},'
        '"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.25","env":[{"name":"A","value":"1"}],'
        '"resources":{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"100m"}}},{"name":"side","image":"envoy:v1.29","resources":{}}]}}},'
        '"status":{"replicas":2,"readyReplicas":1,"conditions":[{"type":"Available","status":"False"},{"type":"Progressing","status":"True"}]}},'
        '{"kind":"Deployment","metadata":{"name":"api","namespace":"shop","creationTimestamp":"2024-10-09T10:30:00Z"},'
        '"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"api","image":"registry.example.com:5000/team/api@sha256:abcd",'
        '"resources":{"limits":{"memory":"1Gi"}}}]}}},"status":{"replicas":1}}]}\n'
    ),
    "hosts": "127.0.0.1 localhost\n10.0.0.1\tweb web.local\n# old\n10.0.0.2  db   # primary\n\n",
    "env.list": "DB_HOST=postgres\nDB_PORT=5432\n# c\nEMPTY=\nURL=http://a/b?c=d&e=f\n",
    "df.txt": (
        "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/sda1       41152736 38012345   1234567  97% /\n"
        "tmpfs            4012345      123   4012222   1% /run\n/dev/sdb1      103081248 51540624  46281232  53% /var/lib/kubelet\n"
    ),
    "ps.txt": (
        "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot         1  0.0  0.1 167000 11000 ?        Ss   Oct01   0:12 /sbin/init\n"
        "root       640  1.5  2.0 1800000 90000 ?       Ssl  Oct01  90:01 /usr/bin/containerd\nroot       812  3.2  2.5 2100000 120000 ?      Ssl  Oct01 200:10 /usr/bin/kubelet --config=/x\n"
        "www       4242 95.1 40.0 8123456 3200000 ?     Rl   13:00  50:00 java -jar app.jar\nwww       4300  0.0  0.0      0     0 ?        Z    13:50   0:00 [sh] <defunct>\n"
    ),
}  # fmt: skip
