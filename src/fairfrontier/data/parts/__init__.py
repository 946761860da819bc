"""Rows that are read in parts: where they come from, what their columns are, and which of them are learned from."""
