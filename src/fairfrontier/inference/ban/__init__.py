"""What it costs that rules may not see the group."""
