"""One evaluation by Inspect with its mock model, in a process of its own; prints what came of it as JSON.

`python -m tests.eval.frameworks.inspected LOGS`: Inspect keeps loops, streams and handlers of its own for as long as
its process lives.
"""

from __future__ import annotations

import json
import sys

import inspect_ai
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from simcluster.eval.frameworks.inspectai import incidents
from tests.kiosk import CONTENT, TASK

CAUSE = "Deployment kiosk: the image tag v9 does not exist, so that it cannot be pulled."
LINES = ("kubectl get pods -n kiosk | grep kiosk", "kubectl rollout undo deployment/kiosk -n kiosk", "sleep 60")


def main(logs: str) -> None:
    answers = [ModelOutput.for_tool_call("mockllm/model", "bash", {"command": line}) for line in LINES]
    answers.append(ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": CAUSE}))
    for one in answers:
        one.usage = ModelUsage(input_tokens=10, output_tokens=10, total_tokens=20)  # else it looks for a tokenizer
    model = get_model("mockllm/model", custom_outputs=answers)
    (log,) = inspect_ai.eval(incidents(tasks=TASK, content=str(CONTENT)), model=model, log_dir=logs, display="none")
    (sample,) = log.samples or ()
    score = (sample.scores or {})["grade"]
    read = [message.text for message in sample.messages if message.role == "tool"]
    metrics = {name: one.metrics["mean"].value for each in log.results.scores for name, one in [(each.name, each)]}
    found = {"status": log.status, "value": score.value, "digest": score.metadata["digest"], "read": read}
    print(json.dumps({**found, "metrics": metrics}))


if __name__ == "__main__":
    main(sys.argv[1])
