"""Files: the home, locks, and what a session leaves on disk."""
