"""A book is built best first, values are those of a slow minimax, and a stopped run goes on to the same book."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from engine.apps.book.build import Builder
from engine.apps.book.graph import Graph
from engine.book.book import Book
from engine.errors import GoError
from engine.game import Game
from engine.rules import TROMP_TAYLOR
from engine.vertex import PASS, points
from tests.book.books import asked, builder, opened, small_book
from tests.positions import random_game, turned


class _Killed(Exception):
    pass


def same_graph(mine: Graph, its: Graph) -> bool:
    return np.array_equal(mine.nodes, its.nodes) and np.array_equal(mine.candidates, its.candidates)


def grown(made: Builder, steps: int) -> Builder:
    for _ in range(steps):
        assert made.step()
    made.graph.settle()
    return made


def naive_values(graph: Graph) -> dict[int, tuple[float, float]]:
    """Return value and lead of each position by a recursion without arrays."""
    known: dict[int, tuple[float, float]] = {}

    def of(node: int) -> tuple[float, float]:
        if node not in known:
            sign = 1.0 if graph.nodes[node]["is_black"] else -1.0
            best = (-math.inf, 0.0, 0.0)
            for row in graph.candidates[graph.candidates["node"] == node]:
                value, lead = (float(row["value"]), float(row["lead"])) if row["child"] < 0 else of(int(row["child"]))
                if row["child"] >= 0 or row["is_known"]:
                    utility = sign * (value + 0.02 * lead)
                    if utility > best[0]:
                        best = (utility, value, lead)
            known[node] = best[1:]
        return known[node]

    return {node: of(node) for node in range(len(graph))}


def naive_costs(graph: Graph) -> list[tuple[float, int, int]]:
    """Return (cost, position, move) of every open expansion by going over all edges until nothing changes."""
    values, cost = naive_values(graph), [math.inf] * len(graph)
    cost[0] = 0.0

    def edge(row: np.void) -> float:
        node = int(row["node"])
        sign = 1.0 if graph.nodes[node]["is_black"] else -1.0
        value, lead = (float(row["value"]), float(row["lead"])) if row["child"] < 0 else values[int(row["child"])]
        lost = max(0.0, sign * (values[node][0] - value))
        points_lost = min(3.0, max(0.0, sign * (values[node][1] - lead)))
        return 0.45 + 4.5 * lost + 0.75 * points_lost - 0.75 * math.log(float(row["share"]))

    is_changing = True
    while is_changing:
        is_changing = False
        for row in graph.candidates[graph.candidates["child"] >= 0]:
            through = cost[int(row["node"])] + edge(row)
            if through < cost[int(row["child"])] - 1e-12:
                cost[int(row["child"])], is_changing = through, True
    found = []
    for row in graph.candidates:
        node, area = int(row["node"]), 16
        if row["child"] < 0 and row["move"] < area and not graph.nodes[node]["is_settled"]:
            siblings = graph.candidates[graph.candidates["node"] == node]
            expanded = int(np.count_nonzero(siblings["child"] >= 0))
            found.append((cost[node] + edge(row) + 0.25 * expanded, node, int(row["move"])))
    return sorted(found)


def test_values_and_costs_are_those_of_a_slow_minimax() -> None:
    graph = grown(builder(), 8).graph
    position = graph.entries(1)
    for node, (value, lead) in naive_values(graph).items():
        place = int(
            np.flatnonzero((position.key == graph.nodes[node]["key"]) & (position.ply == graph.nodes[node]["ply"]))[0]
        )
        assert position.value[place] / 32767 == pytest.approx(value, abs=2e-5)
        assert position.lead[place] == pytest.approx(lead, abs=0.0051)
    expected = naive_costs(graph)
    chosen = graph.cheapest(12)
    assert {(node, move) for _, node, move in expected[:10]} <= set(chosen)
    assert len(expected) > 60


def test_positions_that_are_reached_by_several_moves_are_searched_once(tmp_path: Path) -> None:
    graph = grown(builder(), 14).graph
    keys = list(zip(graph.nodes["key"].tolist(), graph.nodes["ply"].tolist(), strict=True))
    assert len(set(keys)) == len(keys)
    children = graph.candidates["child"][graph.candidates["child"] >= 0]
    assert len(children) > len(set(children.tolist()))
    # On the empty board of 4x4 three moves differ: in the corner, beside it and in the center.
    at_first = graph.candidates["move"][graph.candidates["node"] == 0].tolist()
    assert len(set(at_first)) == len(at_first) > 1
    assert set(at_first) <= {0, 1, 5, 16}


def test_a_run_killed_after_any_search_goes_on_to_the_same_book(tmp_path: Path) -> None:
    whole = grown(builder(tmp_path / "whole"), 6).graph
    chance = random.Random(5)
    for _ in range(100):
        left = chance.randrange(1, 9)

        def report(done: int) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise _Killed

        made = builder(tmp_path / "killed")
        try:
            while len(made) < len(whole):
                made.step(report)
        except _Killed:
            continue
        break
    made = builder(tmp_path / "killed")
    lines = [json.loads(line) for line in (tmp_path / "killed" / "results.jsonl").read_text().splitlines()]
    assert made.seconds == pytest.approx(sum(line["seconds"] for line in lines))
    assert sum("step" not in line and line["seconds"] > 0 for line in lines) > 1
    assert same_graph(made.graph, whole)
    made.write(tmp_path / "a.book")
    made.graph.settle()
    for mine, its in zip(made.graph.entries(1), whole.entries(1), strict=True):
        assert np.array_equal(mine, its)


def test_the_searches_at_the_root_are_all_searches() -> None:
    made = grown(builder(), 10)
    entries = made.graph.entries(1)
    assert int(entries.visits[np.flatnonzero(entries.ply == 0)[0]]) == len(made)


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 9, "seconds": 1, "edges": [[999, 0, 1]]}',
        '{"step": 9, "seconds": 1, "edges": [[0, 16, 1]]}',
        '{"step": 9, "seconds": 1, "edges": [[0, 0, 9999]]}',
        '{"step": 9, "seconds": 1}',
        '{"position": 3}',
        "[1, 2]",
        '{"position": 7, "chosen": 3, "moves": [[1, 2]]}',
    ],
)
def test_a_damaged_run_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    grown(builder(tmp_path), 2)
    with (tmp_path / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    with pytest.raises(GoError, match=str(tmp_path)):
        builder(tmp_path)


def test_a_run_of_other_settings_is_refused(tmp_path: Path) -> None:
    grown(builder(tmp_path), 1)
    with pytest.raises(GoError, match="size was"):
        builder(tmp_path, asked(3, 3))


def test_a_position_is_found_on_every_image_of_the_board_with_moves_that_are_images(tmp_path: Path) -> None:
    book = opened(small_book(tmp_path, 14))
    found = 0
    for seed in range(60):
        game = random_game(seed, 4, moves=seed % 4, rules=TROMP_TAYLOR)
        game.set_komi(0.5)
        here = book.find(game)
        for symmetry in range(8):
            image = turned(game, symmetry)
            image.set_komi(0.5)
            its = book.find(image)
            assert (here is None) == (its is None)
            if here is None or its is None:
                continue
            found += bool(here.moves)
            assert here[:3] == its[:3]
            for mine, other in zip(here.moves, its.moves, strict=True):
                assert mine[1:] == other[1:]
                after, turned_after = game.copy(), image.copy()
                after.play(after.to_play, mine.vertices[0])
                turned_after.play(turned_after.to_play, other.vertices[0])
                assert book.find(after) is not None
                assert book.find(after)[:3] == book.find(turned_after)[:3]  # type: ignore[index]
    assert found > 20


def test_equal_points_stand_together_and_lead_to_one_position(tmp_path: Path) -> None:
    book, game = opened(small_book(tmp_path, 14)), Game(4, rules=TROMP_TAYLOR, komi=0.5)
    found = book.find(game)
    assert found is not None and found.moves
    named = [vertex for move in found.moves for vertex in move.vertices]
    assert len(named) == len(set(named)) <= len(points(4, 4))
    for move in found.moves:
        assert len(move.vertices) in (4, 8)
        values = set()
        for vertex in move.vertices:
            after = game.copy()
            after.play(after.to_play, vertex)
            values.add(book.find(after)[:3])  # type: ignore[index]
        assert len(values) == 1
        assert values.pop()[0] == pytest.approx(1 - move.winrate)


def test_no_pass_is_a_move_of_a_book(tmp_path: Path) -> None:
    made = grown(builder(), 14).graph
    assert not np.any((made.candidates["move"] == 16) & (made.candidates["child"] >= 0))
    assert PASS not in {
        v for m in (Book.open(small_book(tmp_path)).find(Game(4, komi=0.5)) or ((),) * 4)[3] for v in m[0]
    }
