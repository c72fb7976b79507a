"""The Python API: `from agent_pty import Client, AsyncClient`.

Importing it costs a few milliseconds: request and result types are loaded with the first request.
"""
