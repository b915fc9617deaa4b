"""Others on the same machine that take what the pods need."""
