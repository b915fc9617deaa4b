"""Feature flags as anybody may deploy them: flagd, the page beside it, and programs that ask it."""
