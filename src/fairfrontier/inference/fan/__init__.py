"""Tests for a less discriminatory alternative among any number of groups, by weights that fill a fan."""
