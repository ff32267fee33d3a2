"""What a network is made of, as a tree of parts: kinds, shapes, stored numbers, and the work they are.

Knows no file and draws nothing. Work is counted in multiply-adds of convolutions, matrices and
attention; norms, activations and pools are a few per mille of it and left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from engine.nets.spec import (
    KINDS,
    Activation,
    AttentionBlock,
    Block,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    ErrorForm,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    NestedBottleneckBlock,
    NetSpec,
    Norm,
    PolicyHead,
    PostActivationBlock,
    ResidualBlock,
    RmsNorm,
    Score,
    Stem,
    Tip,
    ValueHead,
    ValueKind,
    tensors,
)

_NAMES = {kind: name.replace("_", " ") for name, kind in KINDS.items()}
_LONGEST_PATTERN = 6
"""Longest pattern of parts that is recognized as repeating."""


@dataclass(frozen=True)
class Part:
    """One part of a network, the parts inside it included.

    path: as in the spec, such as "blocks.3". text: its layers and shapes, `3x3 96->64` a convolution.
    parameters: stored numbers. multiply_adds: for one position on the board that was asked about.
    """

    path: str
    kind: str
    text: str
    parameters: int
    multiply_adds: int
    children: "tuple[Part, ...]" = ()

    @property
    def shape(self) -> tuple[object, ...]:
        """All but the place: equal for parts that differ in their weights only."""
        return self.kind, self.text, self.parameters, tuple(child.shape for child in self.children)


@dataclass(frozen=True)
class Run:
    """Parts that are repeated `count` times with equal shapes; `parts` are the first ones."""

    parts: tuple[Part, ...]
    count: int


@dataclass(frozen=True)
class Output:
    """One output of a network. size: numbers for each position."""

    name: str
    size: str
    meaning: str


def parts(spec: NetSpec, width: int, height: int) -> list[Part]:
    """Return stem, blocks, tip and heads in the order of their computation."""
    area = width * height
    found = [_stem(spec.stem, area)]
    found += [_block(block, f"blocks.{index}", area) for index, block in enumerate(spec.blocks)]
    if spec.tip is not None:
        found.append(_tip(spec.tip))
    return [*found, _policy(spec.policy, area), _value(spec.value, area)]


def multiply_adds(spec: NetSpec, width: int, height: int) -> int:
    """Return the multiply-adds of one evaluation."""
    return sum(part.multiply_adds for part in parts(spec, width, height))


def gflop(spec: NetSpec, width: int, height: int) -> float:
    """Return the floating-point operations of one evaluation, in billions; a multiply-add is two."""
    return 2 * multiply_adds(spec, width, height) / 1e9


def folded(row: Sequence[Part]) -> list[Run]:
    """Group parts into runs: repeated single parts, or repeated patterns of a few parts."""
    shapes = [part.shape for part in row]
    runs: list[Run] = []
    start = 0
    while start < len(row):
        best_length, best_count = 1, 1
        for length in range(1, min(_LONGEST_PATTERN, (len(row) - start) // 2) + 1):
            count = _repeats(shapes[start:], length)
            if count > 1 and (count - 1) * length > (best_count - 1) * best_length:
                best_length, best_count = length, count
        runs.append(Run(tuple(row[start : start + best_length]), best_count))
        start += best_length * best_count
    return runs


def _repeats(shapes: list[tuple[object, ...]], length: int) -> int:
    """Return how many times the first `length` shapes are repeated at the start."""
    count = 1
    while shapes[count * length : (count + 1) * length] == shapes[:length]:
        count += 1
    return count


def outputs(spec: NetSpec) -> list[Output]:
    """Return the outputs of a network; they are from the view of the side to move unless stated otherwise."""
    heads = [*_policy_outputs(spec.policy), _result_output(spec.value)]
    if isinstance(spec.value, ValueHead):
        heads += [Output(each.value, "1", _score_meaning(each, spec.value)) for each in spec.value.scores]
        if spec.value.ownership is not None:
            heads.append(Output("ownership", "area", "tanh(x): 1 where the side to move will own the point"))
    return heads


def _policy_outputs(head: PolicyHead | DensePolicyHead) -> list[Output]:
    found = [Output("policy", "area + 1", "logit of each move, pass last")]
    if head.optimistic:
        meaning = "the same for a side that does better than it expects, mixed in by policy optimism"
        found.append(Output("optimistic policy", "area + 1", meaning))
    unread = head.policies - len(found)
    if unread:
        found.append(Output("not read", f"{unread} x (area + 1)", "for training only"))
    return found


def _result_output(head: ValueHead | DenseValueHead) -> Output:
    if isinstance(head, DenseValueHead):
        return Output(
            "value", "1", f"tanh(x): expected result for {'Black' if head.black_view else 'the side to move'}"
        )
    if head.meaning is ValueKind.TANH:
        return Output("value", "1", "tanh(x): expected result")
    results = head.result.outputs
    never = "; no result only under rules that know it" if results > 2 and not head.no_result_always else ""
    return Output("value", str(results), f"softmax: {', '.join(('win', 'loss', 'no result')[:results])}{never}")


def _score_meaning(score: Score, head: ValueHead) -> str:
    scales = head.scales
    short_term = {
        ErrorForm.LINEAR: ("softplus(x)", "10 softplus(x)"),
        ErrorForm.ROOT: (f"sqrt({scales.value_error:g} softplus(x))", f"sqrt({scales.score_error:g} softplus(x))"),
        ErrorForm.SQUARED: (
            f"sqrt({scales.value_error:g}) softplus(x / 2)",
            f"sqrt({scales.score_error:g}) softplus(x / 2)",
        ),
    }[head.error_form]
    return {
        Score.MEAN: f"{scales.mean:g} x: mean of the final score under self-play",
        Score.STDEV: f"{scales.stdev:g} softplus(x): its standard deviation",
        Score.LEAD: f"{scales.lead:g} x: points that would make the game even",
        Score.BOARD_MEAN: "2 sqrt(area) x: mean score and lead",
        Score.VARIANCE_TIME: f"{scales.variance_time:g} softplus(x): turns the outcome stays open",
        Score.VALUE_ERROR: f"{short_term[0]}: expected error of the value in the short term",
        Score.SCORE_ERROR: f"{short_term[1]}: expected error of the score in the short term",
        Score.UNUSED: "not read",
    }[score]


def _part(node: object, path: str, text: list[str], work: int, children: Sequence[Part] = ()) -> Part:
    count = sum(int(array.size) for _, array in tensors(node))
    work += sum(child.multiply_adds for child in children)
    name = _NAMES[type(node)]  # type: ignore[index]
    return Part(path, name, ", ".join(each for each in text if each), count, work, tuple(children))


def _conv(layer: Conv) -> str:
    outputs, inputs, rows, columns = layer.weight.shape
    return f"{rows}x{columns} {inputs}->{outputs}"


def _linear(layer: Linear | None, name: str = "") -> str:
    return "" if layer is None else f"{name} {layer.weight.shape[0]}->{layer.outputs}".strip()


def _acts(*activations: Activation) -> str:
    """Return the names of the activations, each one once."""
    return "/".join(dict.fromkeys(each.value for each in activations))


def _work(area: int, *layers: Conv | Linear | None) -> int:
    """Return the multiply-adds of layers that are applied at each point."""
    return area * sum(int(layer.weight.size) for layer in layers if layer is not None)


def _stem(stem: Stem, area: int) -> Part:
    who = stem.metadata
    hidden = () if who is None else (who.linear1, who.linear2, who.linear3)
    text = [_conv(stem.conv), _linear(stem.globals, "globals")]
    if who is not None:
        widths = [who.linear1.weight.shape[0], *(layer.outputs for layer in hidden)]
        text.append("metadata " + "->".join(map(str, widths)))
    text.append("" if stem.norm is None else f"norm {stem.activation}")
    return _part(stem, "stem", text, _work(area, stem.conv) + _work(1, stem.globals, *hidden))


def _tip(tip: Tip) -> Part:
    norm = "norm"
    if isinstance(tip.norm, RmsNorm):
        norm = "root mean square over the whole board" if tip.norm.spatial else "root mean square"
    size = len(tip.norm.mean) if isinstance(tip.norm, Norm) else len(tip.norm.weight)
    return _part(tip, "tip", [f"{norm} {size}", tip.activation.value], 0)


def _block(block: Block, path: str, area: int) -> Part:
    match block:
        case GlobalPoolBlock():
            pool = f"pool {_conv(block.pool_conv)}, {_linear(block.pool_bias, 'to bias')}"
            text = [_conv(block.conv1), pool, _conv(block.conv2)]
            acts = _acts(block.activation1, block.pool_activation, block.activation2)
            work = _work(area, block.conv1, block.pool_conv, block.conv2) + _work(1, block.pool_bias)
            return _part(block, path, [*text, acts], work)
        case NestedBottleneckBlock():
            inner = [_block(each, f"{path}.blocks.{index}", area) for index, each in enumerate(block.blocks)]
            text = [_conv(block.conv1), _conv(block.conv2), _acts(block.activation1, block.activation2)]
            return _part(block, path, text, _work(area, block.conv1, block.conv2), inner)
        case AttentionBlock():
            return _attention(block, path, area)
        case FeedForwardBlock():
            channels, width = block.expand.weight.shape
            text = [f"{channels}->{width}{' gated' if block.gate is not None else ''}->{channels}", block.activation]
            return _part(block, path, text, _work(area, block.expand, block.gate, block.contract))
        case ResidualBlock() | PostActivationBlock():
            order = " then add" if isinstance(block, PostActivationBlock) else ""
            text = [_conv(block.conv1), _conv(block.conv2), _acts(block.activation1, block.activation2) + order]
            return _part(block, path, text, _work(area, block.conv1, block.conv2))
        case _:
            assert_never(block)


def _attention(block: AttentionBlock, path: str, area: int) -> Part:
    heads = f"{block.heads} heads" if block.heads == block.kv_heads else f"{block.heads} heads of {block.kv_heads} keys"
    widths = f"{block.query_width} a key, {block.value_width} a value"
    pairs = area * area * block.heads * (block.query_width + block.value_width)
    work = _work(area, block.query, block.key, block.value, block.output) + pairs
    text = [heads, widths, "rotary" if block.rope is not None else "", f"to {block.output.outputs}"]
    return _part(block, path, text, work)


def _policy(head: PolicyHead | DensePolicyHead, area: int) -> Part:
    if isinstance(head, DensePolicyHead):
        text = [_conv(head.conv), _linear(head.hidden, "hidden"), _linear(head.linear, "moves"), head.activation.value]
        return _part(head, "policy", text, _work(area, head.conv) + _work(1, head.hidden, head.linear))
    passes = "pass " + "->".join(
        str(size)
        for size in (
            (head.pass_hidden or head.pass_linear).weight.shape[0],
            *(() if head.pass_hidden is None else (head.pass_hidden.outputs,)),
            head.pass_linear.outputs,
        )
    )
    pool = f"pool {_conv(head.pool_conv)}, {_linear(head.pool_bias, 'to bias')}"
    acts = _acts(head.pool_activation, head.activation)
    work = _work(area, head.conv1, head.pool_conv, head.conv2)
    work += _work(1, head.pool_bias, head.pass_hidden, head.pass_linear)
    return _part(head, "policy", [_conv(head.conv1), pool, _conv(head.conv2), passes, acts], work)


def _value(head: ValueHead | DenseValueHead, area: int) -> Part:
    acts = _acts(head.activation, head.hidden_activation)
    text = [_conv(head.conv), _linear(head.hidden, "hidden"), _linear(head.result, "result")]
    work = _work(area, head.conv) + _work(1, head.hidden, head.result)
    if isinstance(head, DenseValueHead):
        return _part(head, "value", [*text, acts], work)
    text += [_linear(head.score, "score"), "" if head.ownership is None else f"ownership {_conv(head.ownership)}", acts]
    return _part(head, "value", text, work + _work(area, head.ownership) + _work(1, head.score))
