"""A page in a browser to play on, against any GTP program.

`settings` is what a game begins with, `table` the game and what is to be done next, `facts` what is known of both,
`thinker` has the program do it, `view` tells the table as JSON and pictures, `server` brings that to pages and their
commands back, `page/` is the page.
"""
