"""`keima bench`: how fast this machine plays, alone and next to KataGo."""
