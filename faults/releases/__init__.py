"""New versions of programs that use something up as they work."""
