"""The daemon speaks: clients connect here, and session requests go on to hosts unread."""
