"""Programs of feature flags, by the `logic` of a behaviour."""

from __future__ import annotations

from simcluster.models.apps.flags.flagd import FlagdProgram, FlagPageProgram

PROGRAMS = {"flagd": FlagdProgram, "flagd-ui": FlagPageProgram}
