"""Server-side Tables: what `kubectl get` prints, computed by the API server.

Columns, priorities and cell texts follow pkg/printers/internalversion/printers.go.
"""

from simcluster.api.printing.table import partial, table

__all__ = ["partial", "table"]
