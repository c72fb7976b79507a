"""The guard of a session: what its processes execute is judged before they do."""
