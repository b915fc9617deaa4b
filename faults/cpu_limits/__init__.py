"""CPU limits below what is needed."""
