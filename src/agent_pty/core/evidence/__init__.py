"""What is recorded of a session, and how it is known that nothing was changed. Pure."""
