"""The process that speaks HTTP, WebSocket and MCP; the only client that may speak for others."""
