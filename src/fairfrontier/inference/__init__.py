"""Tests and confidence sets: one procedure per module, results that keep their draws."""
