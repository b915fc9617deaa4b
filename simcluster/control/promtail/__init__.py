"""promtail: the agent on every node that tails containers' log files and the journal, and pushes lines to Loki."""
