"""Serves a page for playing in the browser against any GTP program.

`settings`: a new game. `line`: one line of play. `records`: all lines as SGF. `game_session`: the game and what the
engine should do next. `snapshot`: the state that pages get. `engine_worker`: runs the GTP program. `view`: the state as
JSON with pictures. `server`: HTTP. `page/`: the HTML page.
"""
