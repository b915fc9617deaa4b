"""Language models over chat completions: the one client that agents and judge share, and the model as the agent."""
