"""From a bad sector to a Pod's status, through every part in between."""

from __future__ import annotations

import simcluster

MANIFEST = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: db}
spec:
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      nodeName: worker-1
      containers:
        - name: mongo
          image: mongo:4.4.6
          volumeMounts: [{name: d, mountPath: /data/db}]
      volumes: [{name: d, hostPath: {path: /var/local-path-provisioner/db, type: DirectoryOrCreate}}]
"""
CATALOG = "/var/local-path-provisioner/db/WiredTiger.wt"


def test_a_bad_sector_under_the_catalog_becomes_a_crash_loop_and_a_new_disk_ends_it() -> None:
    box = simcluster.sandbox(nodes=1)
    assert str(box.kubectl("apply -f -", stdin=MANIFEST)).startswith("deployment.apps/db created")
    box.wait("40s")
    machine = box.world.machines["worker-1"]
    files = machine.files_at(CATALOG)
    sector = files.sector_of(CATALOG)
    files.disk.sectors.go_bad(sector)
    files.forget_cache()
    assert "1/1" in str(box.kubectl("get pods"))
    box.kubectl("delete pod -l app=db")
    seen = []
    for _ in range(20):
        box.wait("10s")
        seen.append(str(box.kubectl("get pods")))
    assert any("CrashLoopBackOff" in text for text in seen)
    assert "Input/output error" in str(box.kubectl("logs -p deploy/db"))
    assert f"sector {sector}" in "".join(line.text for line in machine.log)
    machine.mounts.unmount("/var/local-path-provisioner")
    files.disk.replace()
    files.format()
    assert machine.mounts.mount("sda1", "/var/local-path-provisioner") == ""
    box.wait("400s")
    assert "Waiting for connections" in str(box.kubectl("logs deploy/db"))
