"""How much a network in a cheaper precision differs from itself in fp32, on positions of real games.

    python -m tests.precision_differences --net keima-t7c96 --precision bf16 --size 9 --size 19 --positions 500

The positions are those of `keima bench --quality`: openings, fights and endgames with a komi that makes them even,
where a winrate is most sensitive. Each is evaluated alone, without a symmetry.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.apps.quality.positions import default_records, positions_of
from engine.encoders.game_positions import write_position
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.evaluators.factory import Computing, open_network
from engine.game import Game
from engine.nets.spec import WeightsError

_LEAST = 1e-12
"""Probability below which a move adds nothing to a divergence."""


def evaluations(evaluator: Evaluator, games: Sequence[Game]) -> list[tuple[float, float, NDArray[np.float64]]]:
    """Return winrate, expected score and policy [area + 1] of each position, for the side to move."""
    found = []
    for game in games:
        positions, out = PositionBatch(1, game.width, game.height), Evaluation(1, game.width, game.height)
        positions.rules = game.rules
        write_position(game, game.to_play, positions, 0)
        evaluator.evaluate(positions, 1, out)
        found.append(((1.0 + float(out.value[0])) / 2, float(out.score[0]), out.policy[0].astype(np.float64)))
    return found


def differences(exact: Evaluator, rounded: Evaluator, games: Sequence[Game]) -> dict[str, NDArray[np.float64]]:
    """Return how much each position differs, [games], by name; of the best move whether it is the same.

    The policies' difference is the Kullback-Leibler divergence in nats, the sum of p * log(p / q).
    """
    found: dict[str, list[float]] = {"winrate": [], "score, points": [], "policy, divergence": [], "same best move": []}
    for one, other in zip(evaluations(exact, games), evaluations(rounded, games), strict=True):
        (winrate, score, policy), (its_winrate, its_score, its_policy) = one, other
        ratio = np.log(np.maximum(policy, _LEAST) / np.maximum(its_policy, _LEAST))
        values = (
            abs(winrate - its_winrate),
            abs(score - its_score),
            float(np.sum(policy * ratio)),
            float(policy.argmax() == its_policy.argmax()),
        )
        for name, value in zip(found, values, strict=True):
            found[name].append(value)
    return {name: np.array(values) for name, values in found.items()}


def report(found: dict[str, NDArray[np.float64]]) -> list[str]:
    """Return a line for each kind of difference: median, 99 % and largest, or the share of positions."""
    lines = []
    for name, values in found.items():
        if name == "same best move":
            lines.append(f"{name}: {100 * values.mean():.1f} %")
        else:
            figures = np.median(values), np.quantile(values, 0.99), values.max()
            lines.append(f"{name}: median {figures[0]:.2g}, 99 % {figures[1]:.2g}, largest {figures[2]:.2g}")
    return lines


def main() -> int:
    """Run from the command line; return 1 if there are no positions."""
    parser = argparse.ArgumentParser(prog="python -m tests.precision_differences", description=__doc__)
    parser.add_argument("--net", default="keima-t7c96", help="a file, or the name of a network that ships with Keima")
    parser.add_argument("--backend", default="numba", choices=("numba", "openvino", "torch"))
    parser.add_argument("--precision", default="bf16", choices=("bf16", "fp16", "int16", "int8"))
    parser.add_argument("--size", type=int, action="append", help="of square boards; 9, 13 and 19 if not given")
    parser.add_argument("--positions", type=int, default=1000, help="on each size")
    parser.add_argument("--records", type=Path, action="append", help="game records; those of KEIMA_SHARED if none")
    asked = parser.parse_args()
    both = "fp32", asked.precision
    exact, rounded = (open_network(asked.net, Computing(asked.backend, each, threads=1)).evaluator for each in both)
    with closing(exact), closing(rounded):
        for size in asked.size or (9, 13, 19):
            positions = positions_of(asked.records or default_records(), (size, size), asked.positions, exact)
            if not positions:
                raise GoError(f"the records have no position on {size}x{size} that is not decided")
            what = f"{asked.net} on {asked.backend}, {asked.precision} beside fp32"
            print(f"{what}, {len(positions)} positions on {size}x{size}")
            for line in report(differences(exact, rounded, [each.game for each in positions])):
                print(f"  {line}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (GoError, WeightsError) as error:
        sys.exit(str(error))
