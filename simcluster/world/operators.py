"""The operators that described applications bring, by the `operator:` key of their behaviour files."""

from __future__ import annotations

from simcluster.control.ingress import IngressController
from simcluster.control.operator import Operator
from simcluster.control.tidboperator import TidbOperator

OPERATORS: dict[str, type[Operator]] = {"ingress-nginx": IngressController, "tidb-operator": TidbOperator}
