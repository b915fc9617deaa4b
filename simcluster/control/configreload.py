"""The config-reloader beside a server: it asks the server to read its files again when those that it watches change.

Source: cmd/prometheus-config-reloader of prometheus-operator 0.79: it is told of changes by the file system, waits a
second for more of them (--delay-interval), and asks again every 5 s while it is refused (--retry-interval). Here its
server looks every 5 s whether the kubelet has put new files there while a reloader runs.
"""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.models.machine.container import Container

LOOK_NS = 5 * SECOND
_IMAGES = ("prometheus-config-reloader", "configmap-reload")


def reloaded_beside(container: Container) -> bool:
    """Whether a reloader runs in the container's pod."""
    return any(
        other.running and other.spec.image.rpartition("/")[2].partition(":")[0] in _IMAGES
        for other in container.sandbox.containers.values()
    )
