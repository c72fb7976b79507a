"""Waits: conditions on a session, answered at the event that makes them true."""
