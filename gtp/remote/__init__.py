"""Serves GTP and JSON analysis to clients on the network: TCP and WebSocket on one port, a session for each client."""
