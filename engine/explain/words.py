"""Puts facts in words: a text about a position or a move, and the one or two most telling facts about a mistake."""

from collections.abc import Iterator, Sequence

from engine.color import color_name, for_color, opponent
from engine.explain.facts import Atari, GroupChange, Line, MoveFacts, PositionFacts
from engine.explain.ladders import Ladder
from engine.scoring import format_lead
from engine.vertex import format_vertex, row_column

_LEAST_LOSS = 0.5
"""Least loss, in points, from which the search's choice is called better."""
_LEAST_REGION = 1.0
"""Least change of a region, in points, that is worth a line."""
_LEAST_REASON = 1.0
"""Least weight, in points, of a reason for a mistake."""
_MOST_MOVES = 8
"""Moves of a variation in a text."""
_MOST_GROUPS, _MOST_REGIONS = 5, 3

Size = tuple[int, int]


def move_text(facts: MoveFacts) -> list[str]:
    """Return lines about a move: what it does, what it costs, what it changes."""
    size, player = facts.before.size, _player(facts.color)
    before, after = facts.before.measured, facts.after.measured
    shapes = _shape_names(facts)
    lines = [
        f"Move {facts.number}, {player} {format_vertex(facts.vertex, *size)}{f': {shapes}' if shapes else ''}",
        f"Loses {facts.points_lost:.1f} points ({format_lead(before.lead)} to {format_lead(after.lead)}), "
        f"Black's win rate {before.winrate:.1%} to {after.winrate:.1%} "
        f"({before.visits:,} and {after.visits:,} visits).",
    ]
    if facts.better is not None:
        name = "Better" if facts.points_lost >= _LEAST_LOSS else "The search's choice"
        lines.append(f"{name}: {_line(facts.better, size)}.")
    elif facts.before.best.moves:
        lines.append("It is the search's first choice.")
    else:
        lines.append("Before it, the search had too few visits to prefer a move.")
    if facts.refutation.moves:
        lines.append(f"The answer: {_line(facts.refutation, size)}.")
    lines += _on_the_board(facts)
    lines += [f"{_group_change(change, size)}." for change in facts.groups[:_MOST_GROUPS]]
    lines += _region_changes(facts)
    if facts.threat is not None:
        opposite, line = _player(opponent(facts.color)), _line(facts.threat.line, size)
        lines.append(f"If {opposite} passes now, that costs {facts.threat.points:.1f} points: {line}.")
    if facts.before.turn is not None and facts.is_sente is not None:
        name = "Sente" if facts.is_sente else "Gote"
        lines.append(f"{name}: before the move, a turn was worth {facts.before.turn.points:.1f} points.")
    return lines


def position_text(facts: PositionFacts) -> list[str]:
    """Return lines about a position."""
    size, measured = facts.size, facts.measured
    lines = [
        f"{_player(facts.to_play)} to play: {format_lead(measured.lead)}, Black's win rate {measured.winrate:.1%} "
        f"({measured.visits:,} visit{'' if measured.visits == 1 else 's'}).",
    ]
    if facts.best.moves:
        lines.append(f"Best: {_line(facts.best, size)}.")
    if facts.turn is not None:
        lines.append(f"A pass costs {facts.turn.points:.1f} points: {_line(facts.turn.line, size)}.")
    lines += [f"{_atari(each, size)}." for each in facts.ataris]
    lines += [f"{_ladder(each, size)}." for each in facts.ladders if each.liberties > 1]
    for group in facts.groups[: 2 * _MOST_GROUPS]:
        liberties = "1 liberty" if group.liberties == 1 else f"{group.liberties} liberties"
        stones = f"{_player(group.color)}'s {_stones(group.stones, size)}"
        safety = "" if group.survival is None else f"{group.status}, survival {group.survival:.0%}, "
        lines.append(f"{stones}: {safety}{liberties}.")
    if facts.regions:
        lines += ["Points by region, as on the board:", *_region_rows(facts)]
    return lines


def reasons(facts: MoveFacts, most: int = 2) -> list[str]:
    """Return up to `most` sentences that say why a move is bad, those about the most points first."""
    weighed = sorted(_weighed(facts), key=lambda each: -each[0])
    found: list[str] = []
    for weight, text in weighed:
        if weight >= _LEAST_REASON and text not in found:
            found.append(text)
    return found[:most]


def _weighed(facts: MoveFacts) -> Iterator[tuple[float, str]]:
    """Yield reasons with their weight in points."""
    size, own = facts.before.size, facts.color
    player, other = _player(own), _player(opponent(own))
    taken = facts.refutation.captured[own]
    if taken:
        pv = _pv(facts.refutation, size)
        yield 2.0 * taken, f"{other} answers {pv} and captures {taken} {'stone' if taken == 1 else 'stones'}."
    if facts.better is not None and facts.better.captured[opponent(own)]:
        caught = facts.better.captured[opponent(own)]
        yield 2.0 * caught, f"{_pv(facts.better, size)} would capture {caught} {'stone' if caught == 1 else 'stones'}."
    for atari in facts.left_in_atari:
        # A chain that could not escape was lost before the move.
        if facts.refutation.moves[:1] == (atari.liberty,):
            yield 2.0 * len(atari.stones), f"It leaves {_stones(atari.stones, size)} in atari."
    for atari in facts.self_atari:
        yield 2.0 * len(atari.stones), f"It puts {player}'s own {_stones(atari.stones, size)} in atari."
    for change in facts.groups:
        # Good for the opponent: an own group became weaker, or an enemy group stronger.
        if (change.change < 0) == (change.color == own):
            verb = "gets" if len(change.stones) == 1 else "get"
            effect = f"{verb} {'safer' if change.change > 0 else 'weaker'}"
            yield abs(change.points), f"{_group_change(change, size, effect)}."
    for ladder in facts.ladders_made:
        if ladder.color == own:
            yield 2.0 * len(ladder.chain), f"A ladder now captures {_stones(ladder.chain, size)}."
    for ladder in facts.after.ladders:
        if not ladder.works and ladder.color != own and facts.vertex in _around(ladder.chain, size):
            yield _LEAST_REASON, f"{_ladder(ladder, size)}."
    for name, (before, after) in facts.regions.items():
        lost = for_color(before - after, own)
        if lost >= _LEAST_REGION:
            # Half as telling as stones: a region's change follows from what happens to the stones in it.
            place = f"{'on' if name.endswith('side') else 'in'} the {name}"
            yield lost / 2, f"{player} loses {lost:.1f} points {place} ({format_lead(before)} to {format_lead(after)})."
    bad = [shape.name for shape in facts.shapes if shape.name in ("empty triangle", "eye-filling")]
    if bad:
        yield _LEAST_REASON, f"Shape: {', '.join(bad)}."


def _around(stones: Sequence[int], size: Size) -> set[int]:
    """Return the points beside some stones."""
    stride = size[0] + 1
    return {stone + step for stone in stones for step in (-stride, -1, 1, stride)}


def _on_the_board(facts: MoveFacts) -> list[str]:
    size = facts.before.size
    lines = [f"Captures {_stones(chain, size)}." for chain in facts.captured]
    if facts.takes_ko:
        lines.append("Takes a ko.")
    lines += [f"Saves {_stones(chain, size)} from atari." for chain in facts.saved]
    lines += [f"Gives atari. {_atari(each, size)}." for each in facts.gives_atari]
    lines += [f"Self-atari. {_atari(each, size)}." for each in facts.self_atari]
    lines += [f"Left in atari. {_atari(each, size)}." for each in facts.left_in_atari]
    lines += [f"{_ladder(each, size)}, since this move." for each in facts.ladders_made if each.liberties > 1]
    lines += [f"The ladder against {_stones(each.chain, size)} no longer works." for each in facts.ladders_broken]
    lines += [f"{_ladder(each, size)}." for each in facts.after.ladders if not each.works]
    return lines


def _region_changes(facts: MoveFacts) -> list[str]:
    changes = sorted(facts.regions.items(), key=lambda each: -abs(each[1][1] - each[1][0]))
    found = []
    for name, (before, after) in changes[:_MOST_REGIONS]:
        if abs(after - before) >= _LEAST_REGION:
            winner = "Black" if after > before else "White"
            change = abs(after - before)
            leads = f"{format_lead(before)} to {format_lead(after)}"
            found.append(f"{name.capitalize()}: {change:.1f} points for {winner} ({leads}).")
    return found


def _region_rows(facts: PositionFacts) -> list[str]:
    """Return the regions' points in rows as on the board; small boards have fewer regions."""
    texts = [format_lead(value) for value in facts.regions.values()]
    across = 3 if len(texts) > 1 and facts.size[0] > 2 else 1
    return ["".join(f"{text:>10}" for text in texts[start : start + across]) for start in range(0, len(texts), across)]


def _shape_names(facts: MoveFacts) -> str:
    size = facts.before.size
    texts = []
    for shape in facts.shapes:
        stones = " ".join(format_vertex(stone, *size) for stone in shape.stones)
        texts.append(f"{shape.name} ({stones})" if stones else shape.name)
    return ", ".join(texts)


def _group_change(change: GroupChange, size: Size, effect: str = "") -> str:
    stones = " ".join(filter(None, [f"{_player(change.color)}'s {_stones(change.stones, size)}", effect]))
    return f"{stones}: survival {change.before:.0%} to {change.after:.0%}"


def _atari(atari: Atari, size: Size) -> str:
    fate = "can be saved" if atari.escapes else "cannot escape"
    liberty = format_vertex(atari.liberty, *size)
    return f"{_player(atari.color)}'s {_stones(atari.stones, size)} in atari, liberty {liberty}: {fate}"


def _ladder(ladder: Ladder, size: Size) -> str:
    target = f"The ladder against {_player(ladder.color)}'s {_stones(ladder.chain, size)}"
    if ladder.works:
        starts = f", from {' or '.join(format_vertex(each, *size) for each in ladder.starts)}" if ladder.starts else ""
        return f"{target} works{starts}"
    breakers = " and ".join(format_vertex(each, *size) for each in ladder.breakers)
    verb = "breaks" if len(ladder.breakers) == 1 else "break"
    return f"{target} does not work: {breakers} {verb} it"


def _line(line: Line, size: Size) -> str:
    captured = [
        f"{count} {color_name(color)} {'stone' if count == 1 else 'stones'}"
        for color, count in line.captured.items()
        if count
    ]
    return _pv(line, size) + (f", which captures {' and '.join(captured)}" if captured else "")


def _pv(line: Line, size: Size) -> str:
    return " ".join(format_vertex(vertex, *size) for vertex in line.moves[:_MOST_MOVES]) or "none"


def _stones(stones: Sequence[int], size: Size) -> str:
    middle = _middle(stones, size)
    return f"{len(stones)} stones at {middle}" if len(stones) > 1 else f"stone {middle}"


def _middle(stones: Sequence[int], size: Size) -> str:
    """Return the name of the stone nearest to all others."""
    places = [row_column(stone, size[0]) for stone in stones]

    def distance(place: tuple[int, int]) -> int:
        return sum(abs(place[0] - row) + abs(place[1] - column) for row, column in places)

    nearest = min(range(len(stones)), key=lambda index: distance(places[index]))
    return format_vertex(stones[nearest], *size)


def _player(color: int) -> str:
    return color_name(color).capitalize()
