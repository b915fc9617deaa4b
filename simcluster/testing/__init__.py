"""Public helpers for tests: of this project and of packages that extend it."""
