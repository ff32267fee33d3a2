"""Builds OpenVINO graphs from networks."""
