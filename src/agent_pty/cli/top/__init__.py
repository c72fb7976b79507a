"""`top`: a live table of all sessions, for people."""
