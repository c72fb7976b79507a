"""The peers: each file starts one, says what it can do, and clears it away."""
