"""CellRunner: code run in the program of a session, one at a time."""
