"""Writes the current position of a game into a batch."""

from engine.board.facts import KO_NOW
from engine.board.kernels import position_hash
from engine.board.layout import COLOR, HEADER, KO_POINT, TO_PLAY
from engine.evaluation.positions import HISTORY, PositionBatch, row_hash
from engine.game import Game
from engine.vertex import NO_POINT


def write_position(game: Game, color: int, positions: PositionBatch, row: int) -> None:
    """Write the current position of a game, with `color` to play, into one row of a batch.

    Does not change seeds, optimism, symmetry, playout doubling and metadata.
    """
    facts, boards = game.facts(color), game.recent_boards(HISTORY)
    positions.facts[row] = facts
    positions.boards[row] = boards[0]
    positions.boards[row, HEADER, TO_PLAY] = color
    positions.boards[row, HEADER, KO_POINT] = facts[KO_NOW]
    for age in range(HISTORY):
        # Before the start of the game the first board is repeated; encoders see by NO_POINT in `moves` that it is not a
        # position.
        board = boards[min(age, len(boards) - 1)]
        positions.colors[row, age] = board[COLOR]
        positions.board_hashes[row, age] = position_hash(board)
    positions.moves[row] = NO_POINT
    for age, move in enumerate(reversed(game.moves[-HISTORY:])):
        positions.moves[row, age] = move.vertex
    positions.to_play[row] = color
    legal, marks, second_start = game.legal_arrays(color)
    positions.legal[row], positions.marks[row], positions.second_start[row] = legal, marks, second_start
    positions.white_bonus[row] = game.white_bonus
    positions.rules = game.rules
    recent = (positions.board_hashes[row], positions.moves[row])
    positions.hashes[row] = row_hash(*recent, legal, facts, marks, second_start, color)
