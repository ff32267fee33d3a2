"""KaTrain's own engine class against an engine: run by the Python that KaTrain is installed for, not by pytest.

The argument is the engine's command line. Prints one JSON object of what KaTrain made of the answers.
"""

import json
import os
import sys
import time

os.environ.update(KIVY_NO_ARGS="1", KIVY_NO_FILELOG="1")

from katrain.core.constants import OUTPUT_ERROR
from katrain.core.engine import KataGoEngine
from katrain.core.game_node import GameNode
from pysgf import Move

SECONDS = 120.0
CONFIG = {
    "backend": "custom",
    "altcommand": "",
    "max_visits": 40,
    "fast_visits": 5,
    "max_time": 30.0,
    "wide_root_noise": 0.04,
    "_enable_ownership": True,
    "allow_recovery": True,
}


class Program:
    """What the engine class asks of the program it is part of."""

    def __init__(self):
        self.errors = []

    def log(self, message, level):
        if level == OUTPUT_ERROR:
            self.errors.append(str(message))

    def __call__(self, message, *args):
        self.errors.append(f"{message}: {args}")


def wait(done):
    end = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > end:
            raise TimeoutError("no answer")
        time.sleep(0.01)


def main():
    program = Program()
    engine = KataGoEngine(program, CONFIG | {"altcommand": sys.argv[1]})
    root = GameNode(properties={"SZ": ["9"], "KM": ["6.5"], "RU": ["japanese"]})
    nodes = [root]
    for number, name in enumerate(("E5", "C3", "G3", "C7")):
        nodes.append(nodes[-1].play(Move.from_gtp(name, player="BW"[number % 2])))
    for node in nodes:
        node.analyze(engine, analyze_fast=node is not nodes[-1])
    wait(lambda: all(node.analysis_complete for node in nodes))
    last = nodes[-1]
    reported = {
        "moves": len(last.analysis["moves"]),
        "visits": [node.analysis["root"]["visits"] for node in nodes],
        "ownership": len(last.analysis["ownership"]),
        "policy": len(last.analysis["policy"]),
        "winrate": last.winrate,
        "candidates": len(last.candidate_moves),
    }
    region = []
    engine.request_analysis(last, lambda found, partial: region.append(found), region_of_interest=[0, 2, 0, 2])
    wait(lambda: region)
    reported["region"] = [each["move"] for each in region[0]["moveInfos"]]
    reports = []
    engine.request_analysis(last, lambda found, partial: reports.append((partial, found)), ponder=True)
    wait(lambda: len(reports) > 2)
    engine.stop_pondering()
    wait(lambda: not reports[-1][0])
    reported["pondered"] = reports[-1][1]["rootInfo"]["visits"]
    engine.on_new_game()
    reported["errors"] = program.errors
    engine.shutdown(finish=None)
    print(json.dumps(reported))


main()
