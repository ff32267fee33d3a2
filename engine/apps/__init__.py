"""What a person starts: each command of `keima` that is more than a player."""
