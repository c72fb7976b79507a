"""One terminal: the door to its PTY, what it wrote, what it shows, what is typed into it."""
