"""Memory limits in which programs cannot run."""
