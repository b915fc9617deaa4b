"""Agents in processes of their own: a host that forks and buries them, and the wire on which they reach an episode.

An agent runs as the user who started it: it is kept apart from the world, the grade and other runs, not jailed.
Nothing is imported here, because a host loads no more of this than its agents need.
"""
