"""One playout at a time, Keima's search visits the moves that KataGo's visits, as often, and values them alike.

Both evaluate without symmetries and search by KataGo's default parameters. KEIMA_KATAGO: see test_raw_nn.
"""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes, Evaluator
from engine.evaluation.positions import PositionBatch
from engine.evaluators.factory import Computing, open_human, open_network
from engine.game import Game
from engine.rules import CHINESE
from engine.search.move_choice import move_table
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.vertex import format_vertex, parse_vertex
from gtp.json_analysis.settings import Settings, overridden
from tests.clients.test_katago import katago
from tests.shared import require_shared

pytestmark = pytest.mark.clients
HUMAN_NET = "synth-v15-meta-human.bin.gz"
NET = "g170-b6c96-s175395328-d26788732.bin.gz"
VISITS, FEW_VISITS = 200, 60
CONFIG = """
logToStderr = false
logDir = logs
logAllGTPCommunication = false
logSearchInfo = false
rules = chinese
numSearchThreads = 1
nnRandomize = false
ponderingEnabled = false
rootSymmetryPruning = false
"""
POSITIONS = [
    (9, "E5 E3 F3 E4 F4 D5"),
    (9, "E5 C3 G7 G4 C7 D4 F4"),
    (  # in the middle of a ko
        9,
        "E5 E7 F7 F6 E6 G7 F8 D7 G6 C7 F4 G8 H8 H9 D3 C3 E4 D2 E2 B2 B4 D1 C2 H7 "
        "D6 D4 F5 G5 C5 D5 C6 F3 C1 E1 J8 J7 G9 J9",
    ),
    (13, "D4 K10 K4 D10 L7 C6"),
    (19, "Q16 D4 C16 Q4 E16 F3 R6 O3 R10"),
    (19, "Q16 D4 Q3 D16 R5 C6 F17 C14"),
]
MIRRORED = "C3 G7 G3 C7 C5 G5 D2 F8 H4 B6 B8 H2 F2 D8 J5 A5 C9 G1 A4 J6 H8 B2 E9 E1 D4 F6 A1 J9 H1 B9"  # White mirrors
CHANGES: list[dict[str, str]] = [
    {"fpuLossProp": "0.3", "rootFpuLossProp": "0.2"},
    {"fpuParentWeightByVisitedPolicy": "false", "fpuParentWeight": "0.4"},
    {"winLossUtilityFactor": "0.6"},
    {"noResultUtilityForWhite": "0.5"},
    {"dynamicScoreCenterZeroWeight": "0.7"},
    {"useNoisePruning": "false"},
    {"noisePruningCap": "1.5"},
    {"nnPolicyTemperature": "1.7"},
    {"rootPolicyTemperature": "1.3", "rootPolicyTemperatureEarly": "2.0"},
    {"rootDesiredPerChildVisitsCoeff": "2"},
    {"ignoreAllHistory": "true"},
    {"playoutDoublingAdvantage": "1.5"},
    {"playoutDoublingAdvantage": "1.5", "playoutDoublingAdvantagePla": "BLACK"},
    {"useLcbForSelection": "false"},
    {"maxPlayouts": "77"},
    {"humanSLProfile": "rank_3k", "humanSLRootExploreProbWeightful": "1"},
    {"humanSLProfile": "rank_3k", "humanSLRootExploreProbWeightless": "1"},
    {"humanSLProfile": "rank_3k", "humanSLPlaExploreProbWeightful": "1", "humanSLCpuctExploration": "0.5"},
    {"humanSLProfile": "rank_3k", "humanSLOppExploreProbWeightless": "1", "humanSLCpuctPermanent": "0.3"},
    {"humanSLProfile": "proyear_1900", "humanSLPlaExploreProbWeightless": "1"},
    {"humanSLProfile": "preaz_9d_2k", "humanSLOppExploreProbWeightful": "1"},
]
"""Parameters by KataGo's names, as far as their effect does not depend on random numbers."""
FIELDS = re.compile(r"move (\S+) visits (\d+).*?utility (\S+).*?utilityLcb (\S+) weight (\S+)")


class OneAtATime:
    """An evaluator that answers one call at a time."""

    def __init__(self, inner: Evaluator) -> None:
        self.attributes: Attributes = replace(inner.attributes, concurrent=1, threads=0)
        self._inner = inner

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        self._inner.evaluate(positions, count, out)

    def close(self) -> None:
        self._inner.close()


def keimas(
    net: Path, game: Game, changes: dict[str, str], visits: int, times: int
) -> dict[str, tuple[int, float, float, float]]:
    """Return visits, utility, its lower bound and weight by move. changes: parameters by KataGo's names.

    times: searches of the position, each without the tree of the one before; the last is returned.
    """
    computing = Computing("openvino", "fp32", 1)
    evaluator = OneAtATime(open_network(str(net), computing, None).evaluator)
    human = None
    if any(name.startswith("humanSL") for name in changes):
        human = OneAtATime(open_human(str(require_shared(f"nets/{HUMAN_NET}")), computing).evaluator)
    plain = SearchParams(random_symmetries=False, prunes_symmetric_moves=False, batch_size=1)
    settings, unknown = overridden(Settings(plain), changes)
    assert unknown == []
    params = settings.params
    search = Search(evaluator, params, human=human)
    for _ in range(times):
        search.forget()
        search.begin(game, game.to_play, game.legal_vertices())
        search.run([], visits)
    table = move_table(search.tree, search.root, params, search.human_evaluation)
    nodes = search.tree.nodes[table.child]
    rows = zip(table.vertex, nodes["visits"], table.utility, table.lcb, nodes["weight"], strict=True)
    search.close()
    return {format_vertex(int(v), game.width, game.height): (int(n), u, lcb, w) for v, n, u, lcb, w in rows}


def katagos(
    program: str, net: Path, folder: Path, size: int, moves: str, changes: dict[str, str], visits: int, times: int
) -> dict[str, tuple[int, float, float, float]]:
    """Return the same of KataGo."""
    given = {"conservativePass": "false", "enableMorePassingHacks": "false"} | changes
    lines = "".join(f"{name} = {value}\n" for name, value in given.items())
    (folder / "gtp.cfg").write_text(f"{CONFIG}maxVisits = {visits}\n{lines}", encoding="utf-8")
    played = "".join(f"play {'bw'[i % 2]} {move}\n" for i, move in enumerate(moves.split()))
    color = "bw"[len(moves.split()) % 2]
    searched = f"clear_board\n{played}kata-search_analyze {color}\n" * times
    script = f"boardsize {size}\nkata-set-rules chinese\nkomi 7.5\n{searched}quit\n"
    command = [program, "gtp", "-model", str(net), "-config", "gtp.cfg"]
    if any(name.startswith("humanSL") for name in changes):
        command += ["-human-model", str(require_shared(f"nets/{HUMAN_NET}"))]
    done = subprocess.run(command, cwd=folder, input=script, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    line = [line for line in done.stdout.splitlines() if line.startswith("info")][-1]
    return {move: (int(n), float(u), float(lcb), float(w)) for move, n, u, lcb, w in FIELDS.findall(line)}


@pytest.mark.parametrize(("size", "moves"), POSITIONS)
def test_visits_values_and_bounds_are_katagos(size: int, moves: str, tmp_path: Path) -> None:
    compare(size, moves, {}, VISITS, tmp_path)


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_parameter_has_katagos_effect(changes: dict[str, str], tmp_path: Path) -> None:
    # Fewer visits: in deeper trees positions are reached by several orders of moves. KataGo's cache of evaluations
    # ignores the order (nnCacheSizePowerOfTwo = -1 turns it off), and it shares more nodes after captures.
    compare(*POSITIONS[1], changes, FEW_VISITS, tmp_path)


def test_against_an_opponent_who_mirrors_the_search_is_katagos(tmp_path: Path) -> None:
    compare(9, MIRRORED, {"antiMirror": "true"}, FEW_VISITS, tmp_path)


@pytest.mark.parametrize(("size", "moves"), POSITIONS[:2])
@pytest.mark.parametrize("least", ["3", "20"])
def test_what_an_earlier_search_found_biases_the_next_one_as_in_katago(
    size: int, moves: str, least: str, tmp_path: Path
) -> None:
    compare(size, moves, {"useEvalCache": "true", "evalCacheMinVisits": least}, FEW_VISITS, tmp_path, times=3)


def compare(size: int, moves: str, changes: dict[str, str], visits: int, tmp_path: Path, times: int = 1) -> None:
    """Check that both programs visit the same moves as often, and value them alike, in the last of `times` searches."""
    net, program = require_shared(f"nets/{NET}"), katago()
    game = Game(size, rules=CHINESE, komi=7.5)
    for move in moves.split():
        game.play(game.to_play, parse_vertex(move, size, size))
    found = keimas(net, game, changes, visits, times)
    expected = katagos(program, net, tmp_path, size, moves, changes, visits, times)
    assert {move: row[0] for move, row in found.items()} == {move: row[0] for move, row in expected.items()}
    for move, row in expected.items():
        # Weights grow with the visits, and with them what rounding makes of them.
        assert found[move][1:] == pytest.approx(row[1:], abs=2e-3, rel=1e-3), move
