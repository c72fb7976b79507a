"""Proofs of sessions: what their records say, as JSON, Markdown and HTML."""
