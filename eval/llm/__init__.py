"""A language model asked the same nine questions, over any endpoint that speaks chat completions."""

from simcluster.eval.chat.endpoint import Endpoint, EndpointError, Usage
from simcluster.eval.llm.judge import LlmVerdict, ask
from simcluster.eval.llm.second import SecondJudge, agreement

__all__ = ["Endpoint", "EndpointError", "LlmVerdict", "SecondJudge", "Usage", "agreement", "ask"]
