"""A page in a browser to play on, against any GTP program.

`settings` is what a game begins with, `line` one way that its moves go, `records` all of them as SGF, `table` what is
to be done next, `facts` what is known of it, `thinker` has the program do it, `view` tells the table as JSON and
pictures, `server` brings that to pages and their commands back, `page/` is the page.
"""
