"""What a session records of itself."""
