"""Measure agent-pty beside its peers, in one run: `python -m bench`."""
