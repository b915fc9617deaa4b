"""What a desk knows of the session that it serves (`surface.http.desk.Incident`)."""

from __future__ import annotations

from typing import Any

from simcluster.eval.episode import Episode
from simcluster.session.live import Live

#: Tools that work on copies.
COPIES = ("fork", "counterfactual")


class ServedIncident:
    """The page, the application, and the stages of a submission.

    Attributes:
        stage: `diagnosis`, `mitigation` or `done`.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self.stage = "diagnosis"

    @property
    def alert(self) -> str:
        """The page; empty of a sandbox."""
        return self._live.alert if isinstance(self._live, Episode) else ""

    @property
    def allowed(self) -> tuple[str, ...]:
        """As the task says; in a sandbox everything."""
        return self._live.task.allows if isinstance(self._live, Episode) else COPIES

    def application(self) -> dict[str, Any]:
        """What the agent is responsible for."""
        task = self._live.task if isinstance(self._live, Episode) else None
        name = task.app if task is not None else ""
        namespace = task.namespace if task is not None else "default"
        return {"app_name": name, "namespace": namespace, "namespaces": [namespace], "descriptions": self.alert}

    def submit(self, solution: str) -> None:
        """The diagnosis first; then the end of the work, which is graded."""
        if self.stage == "diagnosis":
            self._live.diagnose(solution)
            self.stage = "mitigation"
            return
        if isinstance(self._live, Episode):
            self._live.finish()
        self.stage = "done"
