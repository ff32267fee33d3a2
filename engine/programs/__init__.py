"""Other programs that speak GTP, run as child processes: match players, teachers, the engine behind a web page.

`program` starts one and exchanges commands and replies, `commands` writes the commands, `answers` parses the replies,
`views` converts between points of view, `follower` keeps a program at the position of a game.
"""
