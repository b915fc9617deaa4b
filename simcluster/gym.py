"""Importing this module makes every task known to Gymnasium, as `simcluster/TASK-v0`.

    import gymnasium, simcluster.gym
    gymnasium.make("simcluster/wrong_service_selector_online_boutique-v0")

Versions of Gymnasium that load the plug-ins of installed packages by themselves know them without it. Its own form
`gymnasium.make("simcluster.gym:simcluster/TASK-v0")` imports it, too. Needs the extra `gym`.
"""

from __future__ import annotations

from simcluster.eval.training import register

register()
