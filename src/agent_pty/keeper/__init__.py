"""The keeper holds: it forks programs and hosts, keeps every PTY master, reaps exit codes.

Standard library only, single-threaded, one select loop. It never reads a terminal
byte, so there is nothing in it to crash on.
"""
