"""Runs a session of the analysis protocol: reads queries and actions, queues searches, writes answers.

Reading, searching and writing have their own threads: a query may come at any time, and a client that does not read
delays nobody. Knows no network and no file.
"""

import json
import logging
import math
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import __version__
from engine.apps.analysis_server.answer import Asked, answer_to, to_line
from engine.vertex import MAX_SIZE
from gtp.json_analysis.explain import explanation_tasks
from gtp.json_analysis.fields import Object, QueryError, integers
from gtp.json_analysis.query import parse_query
from gtp.json_analysis.settings import Settings
from gtp.session import LONGEST_LINE, ByteSink, ByteSource, Disconnected, Writer, has_no_reader, read_lines

if TYPE_CHECKING:
    from engine.apps.analysis_server.pool import AnalysisPool
    from engine.apps.analysis_server.task import Report, Task
    from engine.evaluators.raw import RawNetwork

log = logging.getLogger(__name__)
# From this number of unread lines or bytes on, the client gets no more reports of unfinished searches.
_BACKLOG = 1000
_BACKLOG_BYTES = 8 << 20
# A client on the network that leaves more bytes unread is disconnected.
_MOST_BYTES = 256 << 20
# Seconds between two checks whether a client that has ended its input is gone.
_LOST_INTERVAL = 1.0
# KataGo's text for an unknown source revision.
_REVISION = "<omitted>"
_ACTIONS = "'action' field must be 'query_version' or 'query_models' or 'clear_cache' or 'terminate' or 'terminate_all'"
_EXPLAIN = "explain"
"""The action that KataGo does not have; it is a query with other answers."""
_TURNS = "If provided, must be an array of integers indicating turns to terminate"
_NO_TARGET = 'Requests for a terminate action must have a string "terminateId" field'


@dataclass(frozen=True)
class Equipment:
    """The resources of a session.

    network: evaluates positions, None for playouts. human: the human network beside it. clear_cache: drops all cached
    evaluations.
    """

    pool: "AnalysisPool"
    settings: Settings
    network: "RawNetwork | None" = None
    clear_cache: Callable[[], None] = lambda: None
    human: "RawNetwork | None" = None

    @property
    def networks(self) -> "list[RawNetwork]":
        """The networks in use."""
        return [each for each in (self.network, self.human) if each is not None]

    @property
    def sizes(self) -> tuple[int, int]:
        """Smallest and largest side of boards that can be analyzed."""
        return (1, MAX_SIZE) if self.network is None else self.network.facts.board_sizes


class Output:
    """Writes lines in the order of `send`, in its own thread; `send` never waits.

    is_closed: set by `close` and when the client does not read any more. on_lost: called in the latter case.
    on_final: called after a final answer was written.
    """

    def __init__(
        self,
        sink: ByteSink,
        on_lost: Callable[[], None],
        on_final: Callable[[], None],
        most_bytes: float = math.inf,
    ) -> None:
        """most_bytes: that may wait to be written; more are as if the client did not read."""
        self._on_lost, self._on_final, self._most_bytes = on_lost, on_final, most_bytes
        self._writer = Writer(sink)
        self._unread, self._counting = 0, threading.Lock()
        self._is_lost = False
        self._lines: queue.SimpleQueue[tuple[str, bool] | None] = queue.SimpleQueue()
        self.is_closed = threading.Event()
        self._thread = threading.Thread(target=self._write, name="analysis-writer", daemon=True)
        self._thread.start()

    @property
    def is_behind(self) -> bool:
        """Whether much waits to be written."""
        return self._lines.qsize() >= _BACKLOG or self._unread >= _BACKLOG_BYTES

    def send(self, answer: Object, *, is_final: bool = False) -> None:
        """Queue one line. is_final: it is the last about one position."""
        if self.is_closed.is_set():
            return
        line = to_line(answer)
        self._count(len(line))
        if self._unread > self._most_bytes:
            log.info("a client leaves %d bytes unread", self._unread)
            self._is_lost = True
            self.is_closed.set()
            self._on_lost()
        self._lines.put((line, is_final))

    def _count(self, change: int) -> None:
        with self._counting:
            self._unread += change

    def _write(self) -> None:
        try:
            while (queued := self._lines.get()) is not None:
                if self._is_lost:
                    return
                line, is_final = queued
                self._writer.write(line)
                self._count(-len(line))
                if is_final:
                    self._on_final()
        except Disconnected as error:
            log.info("output closed: %s", error)
            self.is_closed.set()
            self._on_lost()

    def close(self) -> None:
        """Write everything sent so far, and nothing that is sent later."""
        self.is_closed.set()
        self._lines.put(None)
        self._thread.join()


class AnalysisServer:
    """One session on one pair of streams, one of the clients of the pool.

    most_open: of a client on the network: positions beyond which no more queries are read until answers were written.
    """

    def __init__(self, equipment: Equipment, sink: ByteSink, most_open: int | None = None) -> None:
        self._equipment = equipment
        self._most_open = most_open
        self._open = 0
        self._changed = threading.Condition()
        most_bytes = math.inf if most_open is None else _MOST_BYTES
        self._sink = sink
        self._output = Output(sink, self._lose, self._close_position, most_bytes)

    def run(self, source: ByteSource, *, quits_at_once: bool = False) -> None:
        """Answer until the end of input; then finish all queries, unless `quits_at_once`. Closes the pool.

        A client that has closed both the input and the output is gone, which ends its queries.
        """
        self.converse(source, quits_at_once=quits_at_once, is_lost=partial(has_no_reader, self._sink))
        self._equipment.pool.close(wait=not quits_at_once)

    def converse(
        self, source: ByteSource, *, quits_at_once: bool = False, is_lost: Callable[[], bool] = lambda: False
    ) -> None:
        """Answer until the end of input; then finish all queries of this client, unless `quits_at_once`.

        is_lost: asked after the end of input; the client is gone and reads no answers.
        """
        for raw in read_lines(source, longest=None if self._most_open is None else LONGEST_LINE):
            if self._most_open is not None:
                self._wait_until(self._most_open - 1)
            if self._output.is_closed.is_set():
                break
            self._answer(raw)
        if not quits_at_once:
            while not is_lost() and not self._wait_until(0, _LOST_INTERVAL):
                pass
        self._output.close()
        self._equipment.pool.cancel(self._is_own)

    def _is_own(self, task: "Task") -> bool:
        return task.client is self

    def _wait_until(self, most: int, seconds: float | None = None) -> bool:
        """Wait until at most `most` positions are open, or the client reads no more; return False at the timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._open <= most or self._output.is_closed.is_set(), seconds)

    def _close_position(self) -> None:
        with self._changed:
            self._open -= 1
            self._changed.notify_all()

    def _lose(self) -> None:
        """Cancel the searches of a client that reads no more answers."""
        with self._changed:
            self._changed.notify_all()
        self._equipment.pool.cancel(self._is_own)

    def _answer(self, raw: bytes) -> None:
        """Answer one line. No failure ends the session."""
        if not raw.strip():
            return
        text = raw.decode("utf-8", "replace").strip()
        try:
            given = _parse(raw)
        except (ValueError, RecursionError) as error:
            self._error(f"{error} - could not parse input line as json request: {text}")
            return
        if not isinstance(given, dict):
            self._error(f"Request line was valid json but was not an object, ignoring: {text}")
        elif not isinstance(given.get("id"), str):
            self._error('Request must have a string "id" field')
        else:
            try:
                self._execute(given)
            except QueryError as error:
                self._error(str(error), field=error.field, id=given["id"])
            except Exception as error:
                log.exception("a query failed")
                self._error(f"internal error: {error!r}", id=given["id"])

    def _error(self, message: str, *, is_final: bool = False, **where: str) -> None:
        self._output.send({"error": message} | where, is_final=is_final)

    def _execute(self, given: Object) -> None:
        """Execute a query or an action. Raises QueryError."""
        explains = given.get("action") == _EXPLAIN
        if isinstance(given.get("action"), str) and not explains:
            self._act(given)
            return

        def warn(field: str, message: str) -> None:
            self._output.send({"warning": message, "field": field, "id": given["id"]})

        equipment = self._equipment
        settings, sizes = equipment.settings, equipment.sizes
        if explains:
            tasks = explanation_tasks(given, settings, sizes, warn, partial(self._output.send, is_final=True))
        else:
            tasks = parse_query(given, settings, sizes, warn, self._send_report)
        for network in equipment.networks if tasks else ():
            # Starts to compile for this size before the first position is taken from the queue.
            network.prepare(tasks[0].game.width, tasks[0].game.height)
        for task in tasks:
            task.client = self
        with self._changed:
            # An explanation has several searches with one subject and one answer.
            self._open += len({id(task.subject) for task in tasks})
        equipment.pool.submit(tasks)

    def _act(self, given: Object) -> None:
        match given["action"]:
            case "query_version":
                given |= {"version": __version__, "git_hash": _REVISION}
            case "query_models":
                given["models"] = self._models()
            case "clear_cache":
                self._equipment.clear_cache()
            case "terminate":
                target = given.get("terminateId")
                if not isinstance(target, str):
                    raise QueryError("terminateId", _NO_TARGET)
                self._cancel(given, target)
            case "terminate_all":
                self._cancel(given, None)
            case _:
                self._error(_ACTIONS)
                return
        self._output.send(given)

    def _cancel(self, given: Object, target: str | None) -> None:
        """Stop the searches of a query (None: of all), at the given turns or at every turn."""
        turns = set(integers(given, "turnNumbers", _TURNS)) if "turnNumbers" in given else None

        def is_meant(task: "Task") -> bool:
            asked = task.subject
            if not isinstance(asked, Asked) or not self._is_own(task):
                return False
            return (target is None or asked.id == target) and (turns is None or asked.turn in turns)

        self._equipment.pool.cancel(is_meant)

    def _models(self) -> list[Object]:
        return [
            {
                # Clients on the network learn nothing about the folders of this machine.
                "name": facts.file if self._most_open is None else Path(facts.file).name,
                "internalName": facts.name,
                "maxBatchSize": facts.max_batch,
                "usesHumanSLProfile": facts.imitates,
                "version": facts.version,
                "usingFP16": str(facts.precision in ("fp16", "bf16")).lower(),
            }
            for facts in (network.facts for network in self._equipment.networks)
        ]

    def _send_report(self, asked: Asked, task: "Task", report: "Report") -> None:
        """Send the answer for a report; called by searching threads."""
        if report.failure:
            self._error(report.failure, is_final=True, id=asked.id)
        # Final answers are never dropped; intermediate ones are, so that a slow reader does not fill the memory.
        elif report.is_final or not self._output.is_behind:
            self._output.send(answer_to(asked, report, task.view), is_final=report.is_final)


def _parse(raw: bytes) -> Any:
    """Parse a line of JSON. Raises ValueError, RecursionError."""
    value = json.loads(raw.decode("utf-8-sig"), parse_constant=_refuse_constant)
    # Unpaired surrogates and 1e999 can be parsed but could not be echoed in an answer.
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
