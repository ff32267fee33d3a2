"""Weaker play that looks human: a wider choice among likely moves, each of which loses few points.

Nothing is random but the choice among moves that a player of the level might consider. A search of few visits with
flatter priors visits the likely moves; those that lose at most `most_loss` points against the best of them are
candidates, and the move is drawn by the flattened priors. A human network beside the playing one says what people of
the rank would play: its policy takes the place of the flattened priors.
"""

import math
from dataclasses import replace

import numpy as np

from engine.board.layout import HEADER, HEIGHT, WIDTH
from engine.color import for_color
from engine.evaluation.evaluation import Evaluation
from engine.search.human import policy_of
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors
from engine.search.tree import ROOT, Tree, links_of
from engine.settings.levels import Level
from engine.vertex import PASS

_BREADTH = 20.0
"""Weight of the priors in a search for candidates: it visits many moves once rather than few moves often."""

_MISTAKES = 2
"""Largest mistakes of a level that make up for a lead. Without this, in 24 games on 9x9 of a rank against itself,
the first side that would have resigned won 10 at 21k, 5 at 15k, 5 at 9k and none at 3k. With it, nobody would have
resigned at 21k, 8 at 15k, 13 at 9k and 20 at 3k, of whom 1, 1 and 4 won (`python -m tests.comebacks`)."""


def resigning_at_level(params: SearchParams, level: Level | None) -> SearchParams:
    """Return the parameters by which a player resigns; of a level: not while its opponent may lose the lead again."""
    if level is None:
        return params
    return replace(params, resign_min_lead=max(params.resign_min_lead, _MISTAKES * level.most_loss))


def params_as_people(params: SearchParams, level: Level, people: tuple[str, float]) -> SearchParams:
    """Return the parameters of a search at a level with a human network beside the playing one.

    people: see `engine.settings.levels.people_of`; a profile that the parameters name counts more.
    """
    if level.temperature == 0.0:
        return params
    profile, temperature = people
    # All visits of the root go where people play. Weightless ones leave the position's value to the other moves.
    return replace(
        params,
        human_profile=params.human_profile or profile,
        human_root_temperature=params.human_root_temperature * temperature,
        human_root_weightless=1.0,
    )


def params_at_level(params: SearchParams, level: Level) -> SearchParams:
    """Return the parameters of a search at a level: where it draws among moves, the search visits many of them."""
    if level.temperature == 0.0:
        return params
    return replace(
        params,
        c_puct=_BREADTH,
        root_fpu_reduction=0.0,
        root_policy_temperature=level.temperature,
        prunes_symmetric_moves=False,
    )


def draw_vertex(
    tree: Tree,
    root: Root,
    level: Level,
    best: int,
    generator: np.random.Generator,
    human: Evaluation | None = None,
    *,
    has_score: bool = True,
) -> int:
    """Return the move to play at a level that draws among moves.

    best: the move that the search prefers; a pass is played only if it is this. The tree's root priors have the
    temperature of the level already. human: the root's evaluation by the human network, if there is one. has_score:
    whether the tree knows points; if not, a win counts as one point for each point of the board's side, the scale on
    which utilities weigh points against wins.
    """
    links = links_of(tree, ROOT)
    vertices = tree.edge_vertex[ROOT, : len(links)].astype(np.int64)
    nodes = tree.nodes[tree.links[links]["child"]]
    width, height = (int(side) for side in root.board[HEADER, [WIDTH, HEIGHT]])
    likely = root_priors(tree)[: len(links)] if human is None else policy_of(human, vertices, width, height)
    chances = np.where((nodes["visits"] > 0) & (root.avoid[root.color, vertices] <= 0), likely, 0.0)
    chances[vertices == PASS] = 0.0
    if best == PASS or not chances.any():
        return best
    points = nodes["lead"] if has_score else nodes["value"] * math.sqrt(width * height)
    leads = np.where(chances > 0, for_color(points, root.color), -np.inf)
    chances[leads < leads.max() - level.most_loss] = 0.0
    return int(generator.choice(vertices, p=chances / chances.sum()))
