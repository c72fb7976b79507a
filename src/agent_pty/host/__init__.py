"""The hosts think: each has many sessions, and reads, understands and writes their terminals."""
