"""`keima doctor`: what Keima found on this machine."""
