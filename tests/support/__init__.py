"""Helpers of the tests: users, terminals, keepers and sockets, all of them real."""
