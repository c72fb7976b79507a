"""The policy gate of one session: what may be typed into its terminal."""
