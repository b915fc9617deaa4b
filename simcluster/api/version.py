"""Which Kubernetes is imitated."""

from __future__ import annotations

from simcluster.api.objects import Json

#: What the imitated server says of itself.
VERSION: Json = {
    "major": "1",
    "minor": "32",
    "gitVersion": "v1.32.13",
    "gitCommit": "63adf010aa20e104c0b7043b47f42f50c9f72b17",
    "gitTreeState": "clean",
    "buildDate": "2026-08-21T00:00:00Z",
    "goVersion": "go1.24.11",
    "compiler": "gc",
    "platform": "linux/amd64",
}
