"""What TiDB brings besides its files: three programs with state of their own, and TiDB Operator."""

from __future__ import annotations

from simcluster.apps.tidb.operator.operator import TidbOperator
from simcluster.apps.tidb.pd import PdProgram
from simcluster.apps.tidb.tidb import TidbProgram
from simcluster.apps.tidb.tikv import TikvProgram

PROGRAMS = {"pd": PdProgram, "tidb": TidbProgram, "tikv": TikvProgram}
OPERATORS = {"tidb-operator": TidbOperator}
