"""Rows as users give them, checked once."""
