"""Turns the JSON of a query into positions to analyze. Errors and warnings are KataGo's.

A query describes one or several positions of a game. Nothing is searched here.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.apps.analysis_server.answer import Asked
from engine.color import BLACK, WHITE
from engine.errors import BadRules, GoError, IllegalMove
from engine.rules import MOST_KOMI, Rules, is_komi, parse_rules_and_komi
from engine.support.json_text import json_text
from engine.vertex import PASS, format_vertex, points
from gtp.args import parse_color
from gtp.json_analysis.fields import (
    Object,
    QueryError,
    integer,
    integers,
    moves,
    player,
    real,
    truth,
    vertices,
)
from gtp.json_analysis.settings import Settings, overridden
from gtp.state import MIN_SIZE, Perspective

if TYPE_CHECKING:
    from engine.apps.analysis_server.task import Report, Task
    from engine.apps.solve.framed import FramedGame
    from engine.game import Game

_MOST_PRIORITY = 0x3FFFFFFFFFFFFFFF
_MOST_VISITS = 1 << 50
_MOST_DEPTH = 10**9
_NEVER = 1e30
_SECONDS = "Must be number of seconds from 0.001 to 1000000.0"
_RESTRICTIONS = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"
_RULES = (
    'Must specify rules string, such as "chinese" or "tromp-taylor", or a JSON object with detailed rules parameters.'
)
_KOMI = "Must be a integer or half-integer from -400.0 to 400.0"
_UNUSED = (
    "Unexpected or unused field, do you have a typo? (set warnUnusedFields=false in the config to disable this warning)"
)
KNOWN_FIELDS = frozenset(
    {
        "id",
        "action",
        "terminateId",
        "turnNumbers",
        "boardXSize",
        "boardYSize",
        "initialStones",
        "moves",
        "initialPlayer",
        "analyzeTurns",
        "priorities",
        "rules",
        "komi",
        "whiteHandicapBonus",
        "overrideSettings",
        "maxVisits",
        "analysisPVLen",
        "rootFpuReductionMax",
        "rootPolicyTemperature",
        "includeMovesOwnership",
        "includeMovesOwnershipStdev",
        "includeOwnership",
        "includeOwnershipStdev",
        "includePolicy",
        "includePVVisits",
        "includeNoResultValue",
        "reportDuringSearchEvery",
        "firstReportDuringSearchAfter",
        "priority",
        "allowMoves",
        "avoidMoves",
        "frame",
        "prove",
    }
)
Warn = Callable[[str, str], None]
"""Called with a field and a warning about it."""
OnReport = Callable[["Asked", "Task", "Report"], None]


def parse_query(
    given: Object, settings: Settings, sizes: tuple[int, int], warn: Warn, on_report: OnReport
) -> "list[Task]":
    """Return the positions of a query, by turn. Raises QueryError.

    sizes: smallest and largest side of boards that can be analyzed. on_report: called with every report.
    """
    size = _board_size(given, sizes)
    stones = moves(given, "initialStones", size, may_pass=False) if "initialStones" in given else []
    if "moves" not in given:
        raise QueryError("moves", "Must specify an array of [player,location] pairs")
    played = moves(given, "moves", size, may_pass=True)
    first = player(given, "initialPlayer") if "initialPlayer" in given else None
    priorities = _priorities(given, len(played))
    if settings.most_turns is not None and len(priorities) > settings.most_turns:
        raise QueryError("analyzeTurns", f"Must be at most {settings.most_turns} turns on this server")
    rules, komi = _rules(given)
    settings = _settings(given, settings, warn)
    make = _TaskMaker(given, settings, size, on_report)
    game = _start(size, rules, komi, stones, first if first is not None or not played else played[0][0])
    if settings.warns_unused:
        for field in given.keys() - KNOWN_FIELDS:
            warn(field, _UNUSED)
    found = []
    for turn in range(len(played) + 1):
        if turn in priorities:
            # A copy: the game goes on to the next turn.
            found.append(make.task(turn, game.copy(), game.to_play, priorities[turn]))
        if turn < len(played):
            _play(game, turn, *played[turn])
    return found


def _board_size(given: Object, sizes: tuple[int, int]) -> tuple[int, int]:
    least, most = max(MIN_SIZE, sizes[0]), sizes[1]
    message = f"Must provide an integer from {least} to {most}"
    for field in ("boardXSize", "boardYSize"):
        if field not in given:
            raise QueryError(field, message)
    return integer(given, "boardXSize", least, most, message), integer(given, "boardYSize", least, most, message)


def _priorities(given: Object, played: int) -> dict[int, int]:
    """Return the turns to analyze, each with its priority."""
    turns = [played]
    if "analyzeTurns" in given:
        turns = integers(given, "analyzeTurns", "Must specify an array of integers indicating turns to analyze")
        for turn in turns:
            if not 0 <= turn <= played:
                raise QueryError("analyzeTurns", f"Invalid turn number: {turn}")
    if "priorities" in given:
        each = integers(given, "priorities", "Must specify an array of integers indicating priorities")
        if "analyzeTurns" not in given:
            raise QueryError("priorities", "Can only specify when also specifying analyzeTurns")
        if len(each) != len(turns):
            raise QueryError("priorities", "Must be of matching length to analyzeTurns")
        for priority in each:
            if abs(priority) > _MOST_PRIORITY:
                raise QueryError("priorities", f"Invalid priority: {priority}")
        if "priority" in given:
            raise QueryError("priority", "Cannot specify both priority and priorities")
        return dict(zip(turns, each, strict=True))
    message = "Must be a number between -2^62 and 2^62"
    priority = 0
    if "priority" in given:
        priority = integer(given, "priority", -_MOST_PRIORITY, _MOST_PRIORITY, message)
    return dict.fromkeys(turns, priority)


def _rules(given: Object) -> tuple[Rules, float]:
    """Return rules and komi: the query's, else the usual komi of the rules."""
    value = given.get("rules")
    if not isinstance(value, str | dict):
        raise QueryError("rules", _RULES)
    text = value if isinstance(value, str) else json_text(value, separators=(",", ":"))
    try:
        rules, komi = parse_rules_and_komi(text)
    except BadRules:
        raise QueryError("rules", f"Could not parse rules: {text}") from None
    if "komi" in given:
        komi = real(given, "komi", -MOST_KOMI, MOST_KOMI, _KOMI)
        if not is_komi(komi):
            raise QueryError("komi", _KOMI)
    if "whiteHandicapBonus" in given:
        bonus = given["whiteHandicapBonus"]
        if not isinstance(bonus, str):
            raise QueryError("whiteHandicapBonus", "Must be a string")
        try:
            rules = rules.with_field("whiteHandicapBonus", bonus)
        except BadRules as error:
            raise QueryError("whiteHandicapBonus", str(error)) from None
    return rules, komi


def _settings(given: Object, settings: Settings, warn: Warn) -> Settings:
    """Return the settings of a query: its own fields override its `overrideSettings`."""
    if "overrideSettings" in given:
        changes = given["overrideSettings"]
        if not isinstance(changes, dict):
            raise QueryError("overrideSettings", "Must be an object")
        texts = {key: value if isinstance(value, str) else json_text(value) for key, value in changes.items()}
        try:
            settings, unknown = overridden(settings, texts)
        except GoError as error:
            raise QueryError("overrideSettings", f"Could not set settings: {error}") from None
        if unknown:
            warn("overrideSettings", f"Unknown config params: {','.join(sorted(unknown))}")
    if "maxVisits" in given:
        visits = integer(given, "maxVisits", 1, _MOST_VISITS, "Must be an integer from 1 to 2^50")
        settings = replace(settings, visits=visits)
    if "analysisPVLen" in given:
        length = integer(given, "analysisPVLen", 1, 1000, "Must be an integer from 1 to 1000")
        settings = replace(settings, pv_length=length)
    if settings.needs_profile and not settings.params.human_profile:
        raise QueryError("overrideSettings", "The network imitates people: humanSLProfile must say whom (rank_5k)")
    of_search = {}
    for field, name, least, most, bounds in (
        ("rootFpuReductionMax", "root_fpu_reduction", 0.0, 2.0, "0.0 to 2.0"),
        ("rootPolicyTemperature", "root_policy_temperature", 0.01, 100.0, "0.01 to 100.0"),
    ):
        if field in given:
            of_search[name] = real(given, field, least, most, f"Must be a number from {bounds}")
    if "root_policy_temperature" in of_search:
        of_search["early_root_policy_temperature"] = of_search["root_policy_temperature"]
    return replace(settings, params=replace(settings.params, **of_search))  # type: ignore[arg-type]


def _start(
    size: tuple[int, int], rules: Rules, komi: float, stones: list[tuple[int, int]], first: int | None
) -> "Game":
    """Return the game before the first move. If a point has several stones, the last one counts."""
    from engine.game import Game

    colors = {vertex: color for color, vertex in stones}
    black, white = ([vertex for vertex, color in colors.items() if color == each] for each in (BLACK, WHITE))
    # Two or more black stones without white ones are a handicap.
    if first is None:
        first = WHITE if len(black) > 1 and not white else BLACK
    game = Game(*size, rules=rules, komi=komi)
    try:
        game.setup(black, white, first)
    except IllegalMove as error:
        raise QueryError("initialStones", f"Illegal position: {error}") from None
    return game


def _play(game: "Game", turn: int, color: int, vertex: int) -> None:
    try:
        game.play(color, vertex, lenient=True)
    except IllegalMove:
        name = format_vertex(vertex, game.width, game.height)
        raise QueryError("moves", f"Illegal move {turn}: {name}") from None


class _TaskMaker:
    """Creates the tasks of one query, which differ only in position and priority."""

    def __init__(self, given: Object, settings: Settings, size: tuple[int, int], on_report: OnReport) -> None:
        self._settings, self._on_report, self._id = settings, on_report, given["id"]
        self._flags = {
            name: truth(given, field)
            for field, name in (
                ("includeOwnership", "ownership"),
                ("includeOwnershipStdev", "ownership_stdev"),
                ("includeMovesOwnership", "moves_ownership"),
                ("includeMovesOwnershipStdev", "moves_ownership_stdev"),
                ("includePolicy", "policy"),
                ("includePVVisits", "pv_visits"),
                ("includeNoResultValue", "no_result"),
            )
        }
        self._first, self._every = _report_times(given)
        self._avoided = _avoided(given, size)
        self._may_frame = given.get("frame") == "auto"
        self._is_framed = not self._may_frame and truth(given, "frame", other='"auto"')
        self._proves = truth(given, "prove")
        if (self._is_framed or self._may_frame) and self._avoided:
            raise QueryError("frame", "Cannot specify frame together with allowMoves or avoidMoves")

    def task(self, turn: int, game: "Game", color: int, priority: int) -> "Task":
        """Return the task of one turn."""
        from functools import cache, partial

        from engine.apps.analysis_server.task import Task
        from engine.search.analysis import Wanted

        settings, flags = self._settings, self._flags
        avoided, added = self._avoided, None
        # Found by the thread that searches the position, in its turn, and only once for all reports.
        proof = cache(partial(_proof, game, color)) if self._proves else None
        if self._is_framed or (self._may_frame and _is_problem(game)):
            framed = _framed(game, color)
            game, avoided, added = framed.game, framed.avoided, framed.added
        asked = Asked(id=self._id, turn=turn, game=game, color=color, frame=added, proof=proof, **flags)
        wanted = Wanted(
            pv_length=settings.pv_length,
            ownership=flags["ownership"] or flags["ownership_stdev"],
            moves_ownership=flags["moves_ownership"] or flags["moves_ownership_stdev"],
        )
        is_fixed = settings.perspective is not Perspective.SIDETOMOVE
        return Task(
            game=game,
            color=color,
            view=parse_color(settings.perspective.value) if is_fixed else color,
            params=settings.params,
            on_report=partial(self._on_report, asked),
            subject=asked,
            visits=settings.visits,
            seconds=settings.seconds,
            wanted=wanted,
            avoided=avoided,
            priority=priority,
            first_report=self._first,
            report_every=self._every,
        )


def _framed(game: "Game", color: int) -> "FramedGame":
    from engine.apps.solve.framed import framed

    try:
        return framed(game, color)
    except GoError as error:
        raise QueryError("frame", str(error)) from None


def _is_problem(game: "Game") -> bool:
    from engine.apps.solve.recognition import looks_like_a_problem

    return looks_like_a_problem(game)


def _proof(game: "Game", color: int) -> Object:
    from engine.apps.solve.proof import proof_json, prove

    return proof_json(prove(game, color), game)


def _report_times(given: Object) -> tuple[float | None, float | None]:
    """Return (seconds before the first report during a search, seconds between reports), None without reports."""
    every = first = None
    if "reportDuringSearchEvery" in given:
        first = every = real(given, "reportDuringSearchEvery", 0.001, 1e6, _SECONDS)
    if "firstReportDuringSearchAfter" in given:
        first = real(given, "firstReportDuringSearchAfter", 0.001, 1e6, _SECONDS)
        every = _NEVER if every is None else every
    return first, every


def _avoided(given: Object, size: tuple[int, int]) -> dict[int, dict[int, int]]:
    """Return, by color and vertex, the depth below which a search must not play there."""
    fields = [field for field in ("allowMoves", "avoidMoves") if field in given]
    if not fields:
        return {}
    field = fields[0]
    if len(fields) > 1:
        raise QueryError(field, "Cannot specify both allowMoves and avoidMoves")
    entries = given[field]
    needed = {"player", "moves", "untilDepth"}
    if not isinstance(entries, list):
        raise QueryError(field, _RESTRICTIONS)
    allows = field == "allowMoves"
    if allows and len(entries) > 2:
        raise QueryError(field, "Currently allowMoves only allows at most one entry per player")
    found: dict[int, dict[int, int]] = {}
    for entry in entries:
        if not isinstance(entry, dict) or not needed <= entry.keys():
            raise QueryError(field, _RESTRICTIONS)
        color, depth, named = _restriction(entry, size)
        if allows and color in found:
            raise QueryError(field, "Cannot specify allowMoves more than once for the same player")
        chosen = {PASS, *points(*size)} - set(named) if allows else named
        found.setdefault(color, {}).update(dict.fromkeys(chosen, depth))
    return found


def _restriction(entry: dict[str, Any], size: tuple[int, int]) -> tuple[int, int, list[int]]:
    """Return the color, the depth and the vertices of one entry of `allowMoves` or `avoidMoves`."""
    color = player(entry, "player")
    named = vertices(entry, "moves", size, "moves")
    return color, integer(entry, "untilDepth", 1, _MOST_DEPTH, "Must be a positive integer"), named
