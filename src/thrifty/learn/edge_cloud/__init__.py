"""TODO: family."""
