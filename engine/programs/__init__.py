"""Other programs that speak GTP, as children of this one: for matches, as teachers, at the board of a page.

`program` asks a process, `words` are what it is told, `answers` reads what it says, `follower` keeps it at the position
of a game.
"""
