"""Serves a page for playing in the browser against any GTP program.

`settings`: a new game. `tree`: the game with its variations. `records`: the tree as SGF. `game_state`: the open game,
and the commands of pages. `game_session`: what the engine should do next. `snapshot`: the state that pages get.
`engine_worker`: runs the GTP program. `view`: the state as JSON with pictures. `server`: HTTP. `page/`: the HTML page.
"""
