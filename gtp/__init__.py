"""Speaks the Go Text Protocol, version 2. Imports no numerical library."""
