"""Opening books: positions up to symmetry, the file of a book, its moves, and a player that plays them."""
