"""Network files from the user's side: what one is, whether it computes what it should, other formats of it."""
