"""Alternatives among rules that see the group."""
