"""Checks of legality, area maps, ladders and scores: all exact."""

import numpy as np

from engine.board.area import area, new_scratch, pass_alive_owners
from engine.board.ladders import find_ladders, new_ladder_scratch
from engine.board.layout import COLOR
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.game import Game
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR, Tax
from engine.scoring import area_score, final_score, ownership_map, territory_score
from engine.vertex import format_vertex, parse_vertex
from tests.golden.records import COLORS, Golden, Report, drawn, play_record, records, rules_of
from tests.oracle.naive_score import tromp_taylor_score


def check_legal(data: Golden) -> Report:
    """Compare the board and the set of legal points after the moves."""
    report = Report()
    for record in records(data):
        width, height = record["size"]
        game = play_record(record, rules=rules_of(record["rules"]))
        legal = game.legal_vertices(COLORS[record["to_move"]])
        report.same(record["id"] + " board", drawn(game.board[COLOR], width, height), record["board"])
        report.same(
            f"{record['id']} ({record['category']}) legal points",
            sorted(format_vertex(vertex, width, height) for vertex in legal),
            sorted(record["legal"]),
        )
        report.checked += 1
    return report


def check_areas(data: Golden) -> Report:
    """Compare six kinds of area maps of the position after the moves."""
    report = Report()
    for record in records(data):
        width, height = record["size"]
        for kind, rows in record["planes"].items():
            rules = rules_of(data["rules"][kind])
            game = play_record(record, rules=rules, lenient=True)
            owner = np.zeros(game.board.shape[1], dtype=np.int8)
            if kind.startswith("pass_alive"):
                owner = pass_alive_owners(game.board, rules.suicide, large=True)
            elif rules.tax is Tax.NONE:
                area(game.board, rules.suicide, True, new_scratch(game.board), owner)
            else:
                owner, _ = ownership_map(game, game.board)
            report.same(f"{record['id']} {kind}", drawn(owner, width, height), rows.split("|"))
        report.checked += 1
    return report


def check_final(data: Golden) -> Report:
    """Compare the score after the passes that end the game."""
    report = Report()
    for record in records(data):
        encore = record["prevent_encore"] is False
        game = play_record(record, rules=rules_of(record["rules"]), encore=encore)
        report.same(record["id"] + " is over", game.is_over, True)
        report.number(f"{record['id']} ({record['rules']})", -final_score(game), record["white_minus_black"])
        report.checked += 1
    return report


def check_scores(data: Golden) -> Report:
    """Compare Tromp-Taylor, Chinese and Japanese scores of finished games with known dead stones."""
    report = Report()
    for record in records(data):
        name = record["id"]
        width, height = record["size"]
        game = play_record(record, lenient=True)
        report.same(name + " board", drawn(game.board[COLOR], width, height), record["board"])
        report.same(name + " prisoners", _prisoners(game), record["captured"])
        katago, plain = record["tromp_taylor_katago"], record["tromp_taylor_plain"]
        report.number(name + " Tromp-Taylor", -final_score(game), katago["white_minus_black"])
        report.same(name + " pass-dead", _pass_dead(game), sorted(katago["pass_dead"]))
        report.number(name + " literal Tromp-Taylor", -tromp_taylor_score(game), plain["white_minus_black"])
        for kind, rules, score in (("area", CHINESE, area_score), ("territory", JAPANESE, territory_score)):
            if kind in record:
                game.set_rules(rules)
                dead = [parse_vertex(vertex, width, height) for vertex in record[kind]["dead"]]
                report.number(f"{name} {kind}", -score(game, dead), record[kind]["white_minus_black"])
                report.number(f"{name} {kind}, final", -final_score(game, dead), record[kind]["white_minus_black"])
        report.checked += 1
    return report


def check_ladders(data: Golden) -> Report:
    """Compare chains in ladders now and up to two turns ago, and the moves that work against the opponent."""
    report = Report()
    for record in records(data):
        width, height = record["size"]
        game = play_record(record, rules=rules_of(record["rules"]))
        scratch, work = new_ladder_scratch(game.board), np.empty_like(game.board)
        for turns_ago, board in enumerate(game.recent_boards(3)):
            laddered = np.zeros(board.shape[1], dtype=np.int8)
            working = np.zeros_like(laddered)
            find_ladders(board, scratch, work, laddered, working)
            planes = {14 + turns_ago: laddered}
            if turns_ago == 0:
                planes[17] = (working & opponent(COLORS[record["to_move"]])) != 0
            for plane, marks in planes.items():
                rows = [row.replace("1", "X").replace("0", ".") for row in record["planes"][str(plane)].split("|")]
                report.same(f"{record['id']} plane {plane}", drawn(marks, width, height), rows)
        report.checked += 1
    return report


def _prisoners(game: Game) -> dict[str, int]:
    return {"black_stones_captured": game.captured(BLACK), "white_stones_captured": game.captured(WHITE)}


def _pass_dead(game: Game) -> list[str]:
    """Return the stones that stand in the other side's area."""
    assert game.rules == TROMP_TAYLOR
    owner, _ = ownership_map(game, game.board)
    colors = game.board[COLOR]
    dead = np.flatnonzero((owner != EMPTY) & ((colors == BLACK) | (colors == WHITE)) & (colors != owner))
    return sorted(format_vertex(vertex, game.width, game.height) for vertex in dead.tolist())
