"""The same folder through every door."""
