"""The client: synchronous, standard library only, imports almost nothing."""
