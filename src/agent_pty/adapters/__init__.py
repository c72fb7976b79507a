"""Our sessions where other people's agents expect them: one file per agent framework.

The frameworks are optional. Each file imports its own, and says how to install it if it is missing.
"""
