"""Processes of this machine: the table, the trees of sessions, exits, killing."""
