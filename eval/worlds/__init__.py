"""Worlds to begin with: applications that serve their users, before anything goes wrong."""
