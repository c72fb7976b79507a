"""Viewers: people attached to a session, with bounded buffers."""
