"""Facts of positions and moves, measured on the board and by searches, which a person or a program can put in words."""
