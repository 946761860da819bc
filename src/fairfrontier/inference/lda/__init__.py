"""Tests for a less discriminatory alternative."""
