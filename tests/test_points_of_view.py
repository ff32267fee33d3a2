"""Values change sides in the named functions alone: `for_color` and `winrate_for_color`, in kernels `black_value`.

A change of sides written out is a choice by color between a value and its opposite (-x, or 1 - x for a win rate).
"""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_trees import tree_of

ROOT = Path(__file__).resolve().parent.parent
CONVERSIONS = {
    "engine/color.py: for_color",
    "engine/color.py: winrate_for_color",
    "engine/evaluation/evaluation.py: black_value",
}
EXCEPTIONS = {
    "engine/apps/book/graph.py: _signs": "the signs of an array of positions with either side to move",
    "engine/apps/web/counting.py: owners": "an owner's color becomes a number for the page",
    "engine/encoders/oneplane.py: encode_oneplane": "an input plane in which enemy stones are -1",
    "engine/evaluators/playout_kernels.py: heavy_rollout": "counts black less white stones",
    "engine/evaluators/playout_kernels.py: owner_sign": "the color of a stone becomes a number to be summed",
    "engine/players/advantage.py: of": "a network's input, which says who has the advantage",
    "engine/search/play_params.py: doubling_of": "the same input, for either side to move",
    "engine/match/game.py: _counted": "the sign of a score becomes the winner's color",
}
"""Other choices between a number and its opposite by a color, with the reason why each is no conversion."""
COLOR = re.compile(r"black|white|color|to_play|mover|player|winner|loser|\bown\b|is_own|enemy|favou?red|\bview\b", re.I)


def opposite(value: ast.expr, other: ast.expr) -> bool:
    """Return whether one expression is the other's negative, or 1 minus the other."""
    for first, second in ((value, other), (other, value)):
        negated = None
        if isinstance(second, ast.UnaryOp) and isinstance(second.op, ast.USub):
            negated = second.operand
        elif isinstance(second, ast.BinOp) and isinstance(second.op, ast.Sub) and ast.unparse(second.left) == "1":
            negated = second.right
        if negated is not None and ast.unparse(negated) == ast.unparse(first):
            return True
    return False


def results(expression: ast.expr) -> list[ast.expr]:
    """Return the values between which a conditional expression chooses, those of nested ones included."""
    if isinstance(expression, ast.IfExp):
        return results(expression.body) + results(expression.orelse)
    return [expression]


def changes_sides(statements: list[ast.stmt]) -> bool:
    """Return whether statements negate a variable, or return a negated one."""
    for each in statements:
        if isinstance(each, ast.Assign) and any(opposite(each.value, target) for target in each.targets):
            return True
        if isinstance(each, ast.AugAssign) and isinstance(each.op, ast.Mult) and isinstance(each.value, ast.UnaryOp):
            return True
        if isinstance(each, ast.Return) and isinstance(each.value, ast.UnaryOp) and isinstance(each.value.op, ast.USub):
            return not isinstance(each.value.operand, ast.Constant)
    return False


def conversions_in(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a function that choose by color between a value and its opposite."""
    for part in ast.walk(node):
        condition: ast.AST = part
        choices: list[ast.expr] = []
        if isinstance(part, ast.IfExp):
            choices = results(part)
        elif isinstance(part, ast.Dict):
            choices = [each for each in (*part.keys, *part.values) if each is not None]
        elif isinstance(part, ast.Call) and len(part.args) == 3 and ast.unparse(part.func).endswith("where"):
            condition, choices = part.args[0], part.args[1:]
        is_change = any(opposite(*pair) for pair in itertools.combinations(choices, 2))
        if isinstance(part, ast.If):
            condition, is_change = part.test, changes_sides(part.body) or changes_sides(part.orelse)
        if is_change and COLOR.search(ast.unparse(condition)):
            yield part


def functions() -> Iterator[tuple[str, ast.AST]]:
    """Yield the functions of the program, and the other statements of its modules and classes, each with its place."""
    files = [
        ROOT / "keima.py",
        *(path for room in ("engine", "gtp", "weights") for path in (ROOT / room).rglob("*.py")),
    ]
    for path in files:
        for node in tree_of(path).body:
            for part in node.body if isinstance(node, ast.ClassDef) else [node]:
                yield f"{path.relative_to(ROOT).as_posix()}: {getattr(part, 'name', 'module')}", part


@pytest.mark.parametrize(
    "body",
    [
        "sign = 1.0 if to_play == BLACK else -1.0",
        "lead = raw.lead if winner == WHITE or raw.lead is None else -raw.lead",
        "return winrate if is_black else 1 - winrate",
        "komi = min(max(bonus if own == WHITE else -bonus, -bound), bound)",
        "plane = 1.0 if color == own else -1.0 if color == 3 - own else 0.0",
        "value = np.where(colors == BLACK, value, -value)",
        "sign = {BLACK: 1, WHITE: -1}[color]",
        "if color == WHITE:\n    value = -value",
        "if color == WHITE:\n    score *= -1",
        "if color == BLACK:\n    return lead\nelse:\n    return -lead",
    ],
)
def test_a_change_of_sides_is_recognized(body: str) -> None:
    assert list(conversions_in(ast.parse(body))) != []


@pytest.mark.parametrize(
    "body",
    [
        "value = 0.95 if margin > 0 else -0.95",
        "stones = black if color == BLACK else white",
        "if color == WHITE:\n    bonus = -1",
        "value = for_color(root.value, color)",
    ],
)
def test_other_choices_are_no_change_of_sides(body: str) -> None:
    assert list(conversions_in(ast.parse(body))) == []


def test_values_change_sides_in_the_named_functions_alone() -> None:
    found = {place for place, function in functions() if any(conversions_in(function))}
    advice = "use for_color, winrate_for_color or black_value, or name the function in EXCEPTIONS, with the reason"
    assert found == CONVERSIONS | set(EXCEPTIONS), advice
