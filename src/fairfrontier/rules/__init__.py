"""Rules to deploy."""
