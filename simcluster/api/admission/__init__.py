"""Admission plugins: one file each, called in the order of `chain`."""
