"""Exponential-weight draws."""
