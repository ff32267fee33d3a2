"""Conversations in the analysis protocol within the test's process, over an evaluator that is made up."""

import io
import json
import queue
import threading
from typing import Any

from engine.apps.analysis_server.pool import AnalysisPool
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.search.params import SearchParams
from gtp.json_analysis.server import AnalysisServer, Equipment
from gtp.json_analysis.settings import Settings
from tests.gtp.talk import Pipe
from tests.search.fakes import FakeEvaluator

Object = dict[str, Any]
SETTINGS = Settings(SearchParams(seed=1), visits=4)
SECONDS = 20.0
"""How long a test waits for what must come."""


class GatedEvaluator(FakeEvaluator):
    """Evaluates nothing until its gate is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.entered = threading.Event()

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Wait for the gate, then write the made-up evaluation."""
        self.entered.set()
        assert self.gate.wait(SECONDS)
        super().evaluate(positions, count, out)


def equipment(evaluator: FakeEvaluator | None = None, threads: int = 3, settings: Settings = SETTINGS) -> Equipment:
    """Return what a session without a network works with."""
    return Equipment(AnalysisPool(evaluator or FakeEvaluator(), threads, 16 * threads), settings)


def query(**fields: Any) -> Object:
    """Return a query for the empty board of 5x5 under Tromp-Taylor rules, with other fields if given."""
    return {"id": "q", "moves": [], "rules": "tromp-taylor", "boardXSize": 5, "boardYSize": 5, "komi": 7.5} | fields


def reported(data: bytes, equipped: Equipment | None = None, **options: Any) -> list[Object]:
    """Return all answers to a whole input."""
    sink = io.BytesIO()
    AnalysisServer(equipped or equipment(), sink).run(io.BytesIO(data), **options)
    lines = sink.getvalue().split(b"\n")
    assert lines.pop() == b""
    return [json.loads(line) for line in lines]


def answers(*given: Object, equipped: Equipment | None = None) -> list[Object]:
    """Return all answers to some queries and actions."""
    return reported("".join(json.dumps(each) + "\n" for each in given).encode(), equipped)


class Conversation:
    """A session that goes on in the background."""

    def __init__(self, equipped: Equipment, *, quits_at_once: bool = False) -> None:
        self._source, self._lines = Pipe(), queue.SimpleQueue[bytes]()
        server = AnalysisServer(equipped, self)
        self._thread = threading.Thread(
            target=server.run, args=(self._source,), kwargs={"quits_at_once": quits_at_once}, daemon=True
        )
        self._thread.start()

    def write(self, data: bytes, /) -> int:
        """Take one line from the server."""
        self._lines.put(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: lines are there at once."""

    def send(self, given: Object) -> None:
        """Send a query or an action."""
        self._source.send(json.dumps(given).encode() + b"\n")

    def receive(self) -> Object:
        """Return the next answer."""
        answer = json.loads(self._lines.get(timeout=SECONDS))
        assert isinstance(answer, dict)
        return answer

    def end(self) -> list[Object]:
        """End the input, wait for the server and return the answers that were not received."""
        self._source.close()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()
        return [json.loads(self._lines.get()) for _ in range(self._lines.qsize())]
