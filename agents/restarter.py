"""The agent that restarts everything it can reach through kubectl, and nothing on the nodes."""

from __future__ import annotations

from simcluster.surface.protocols import Session

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default", "local-path-storage")


class Restarter:
    """Rolls every Deployment anew, then deletes every pod of the application's namespaces."""

    name = "restarter"

    def run(self, session: Session) -> None:
        """Restart, wait, delete, wait."""
        namespaces = application_namespaces(session)
        for namespace in namespaces:
            session.kubectl(f"rollout restart deployment -n {namespace}")
        session.wait("60s")
        for namespace in namespaces:
            session.kubectl(f"delete pods --all -n {namespace} --wait=false")
        session.wait("90s")


def application_namespaces(session: Session) -> list[str]:
    """All namespaces but those of the system."""
    listed = session.kubectl("get namespaces -o name").stdout.split()
    names = [line.rpartition("/")[2] for line in listed]
    return [name for name in names if name not in SYSTEM_NAMESPACES]
