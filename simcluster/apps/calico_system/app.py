"""What Calico brings besides its files."""

from __future__ import annotations

from simcluster.apps.calico_system.node import CalicoNode

OPERATORS = {"calico-node": CalicoNode}
