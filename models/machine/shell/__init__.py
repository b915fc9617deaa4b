"""The shell of containers: grammar, expansion, built-in commands, and scripts that run in simulated time."""
