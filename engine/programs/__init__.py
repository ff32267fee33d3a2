"""Other programs that speak GTP, as children of this one: for matches, as teachers, at the board of a page.

`command_line` says how a process is started, `program` asks it, `words` are what it is told, `answers` reads what it
says, `views` tells in whose view, `follower` keeps it at the position of a game.
"""
