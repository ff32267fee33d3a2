"""Turns a `NetSpec` into the steps that `engine.nets.kernels.kernels` computes, for boards of one size.

Each board size has a model of exactly that size, so no points have to be masked.
"""

from collections.abc import Sequence
from typing import assert_never

from engine.nets.folding import folded, global_pooled, value_pooled
from engine.nets.kernels.memory import Points, Vectors
from engine.nets.kernels.operands import ROUNDED, TILED
from engine.nets.kernels.steps import Model, Steps
from engine.nets.kernels.tiles import TILE_ROWS, tiles_here
from engine.nets.rounding import Range
from engine.nets.spec import (
    AttentionBlock,
    Block,
    DensePolicyHead,
    DenseValueHead,
    FeedForwardBlock,
    GlobalPoolBlock,
    MetadataEncoder,
    NestedBottleneckBlock,
    NetSpec,
    PolicyHead,
    PostActivationBlock,
    ResidualBlock,
    RmsNorm,
    Stem,
    Tip,
    ValueHead,
    all_blocks,
    tensors,
)

_FIRST_CACHE = 48 << 10
"""Bytes of a core's first cache. On 19x19 g170-b6c96 takes 301 us in int8 a position at a time, 331 four at a time."""
_POLICY, _RESULT, _SCORE, _OWNERSHIP = range(4)
"""Indices of the outputs, in the order of `RawOutputs`."""


def is_transformer(spec: NetSpec) -> bool:
    """Return whether a network has blocks of a transformer."""
    return any(isinstance(block, AttentionBlock | FeedForwardBlock) for block in all_blocks(spec.blocks))


def rounds_convolutions(spec: NetSpec) -> bool:
    """Return whether the kernels can compute the convolutions of a network in bf16, by tiles.

    They cannot if a block adds to activations: these would be needed both in float32 and in bf16.
    """
    return not any(isinstance(block, PostActivationBlock) for block in all_blocks(spec.blocks))


def build_model(
    spec: NetSpec,
    width: int,
    height: int,
    lanes: int,
    positions: int,
    *,
    rounded: bool = False,
    integers: int = 0,
    by_tiles: bool | None = None,
) -> Model:
    """Build a network for boards of width x height and at most `positions` positions at a time.

    lanes: see `Steps`. rounded: compute in bf16 the blocks of a transformer, and by AMX all convolutions. integers: one
    of VECTORS_OF_INTEGERS of as many lanes, to compute in int16, of a transformer its blocks, of others the
    convolutions of the blocks; 0 for none. by_tiles: whether AMX multiplies the bf16 of a transformer, or vectors do;
    None for AMX where there is one.
    """
    by_blocks = is_transformer(spec)
    pairs = TILED if (tiles_here() if by_tiles is None else by_tiles) else ROUNDED
    numbers = (pairs if rounded else integers or lanes) if by_blocks else None
    rounds = rounded and rounds_convolutions(spec) and numbers in (None, TILED)
    steps = Steps(width, height, lanes, positions, *_kernels(spec), rounded=rounds, numbers=numbers)
    return _model(steps, spec, integers=0 if by_blocks else integers)


def build_byte_model(spec: NetSpec, width: int, height: int, positions: int, ranges: Sequence[Range]) -> Model:
    """Build a network, not a transformer, that computes the convolutions of its blocks in int8, all others in bf16.

    ranges: those of `byte_ranges.measured_ranges`.
    """
    # All points are read again for each 32 channels.
    positions = max(1, min(positions, _FIRST_CACHE // (width * height * spec.stem.conv.weight.shape[0])))
    steps = Steps(width, height, TILE_ROWS, positions, *_kernels(spec), rounded=True)
    steps.ranges = ranges
    return _model(steps, spec)


def _kernels(spec: NetSpec) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """Return height and width of the stem's convolution kernel, and of all others."""
    stem = spec.stem.conv.weight
    others = [array for _, array in tensors(spec) if array.ndim == 4 and array is not stem]
    height, width = stem.shape[2:]
    return (height, width), [(each.shape[2], each.shape[3]) for each in others]


def _model(steps: Steps, spec: NetSpec, *, integers: int = 0) -> Model:
    """Add all steps of a network, and return its model."""
    trunk = _Trunk(steps, _stem(steps, spec))
    steps.integers = integers
    for block in spec.blocks:
        _add_block(steps, trunk, block)
    steps.integers = 0
    points = _tip(steps, trunk, spec.tip)
    _policy(steps, points, spec.policy)
    _value(steps, points, spec.value)
    return steps.model()


class _Trunk:
    """The points of a trunk, which blocks change in place.

    They have a border, which convolutions need, or none, which the blocks of transformers need. They are copied where
    the next block needs the other.
    """

    def __init__(self, steps: Steps, points: Points) -> None:
        self._steps, self._points = steps, points
        self._rows: Points | None = None

    def points(self) -> Points:
        """Return the points, with their border."""
        if self._rows is not None:
            self._steps.copy_rows(self._rows, self._points)
            self._steps.release(self._rows)
            self._rows = None
        return self._points

    def rows(self) -> Points:
        """Return the points without border."""
        if self._rows is None:
            self._rows = self._steps.rows(self._points)
        return self._rows


def _tip(steps: Steps, trunk: _Trunk, tip: Tip | None) -> Points:
    """Return the points that enter the heads."""
    if tip is None:
        return trunk.points()
    if isinstance(tip.norm, RmsNorm):
        steps.normalize_rows(trunk.rows(), tip.norm)
    return steps.normalized(trunk.points(), tip.norm, tip.activation)


def _stem(steps: Steps, spec: NetSpec) -> Points:
    """Return the points that enter the first block."""
    stem: Stem = spec.stem
    planes = steps.planes(spec.planes)
    vector = _globals(steps, spec)
    if stem.norm is not None:
        return steps.activated(planes, stem.conv, stem.norm, stem.activation, vector=vector, exact=True)
    if is_transformer(spec):
        # Its norms enlarge small errors: with rounded weights here, the winrates of keima-t7c96 in bf16 on 9x9 are
        # wrong by 0.0050 in the median, otherwise by 0.0037.
        return steps.convolved_exactly(planes, stem.conv, vector=vector)
    return steps.convolved(planes, stem.conv, vector=vector)


def _globals(steps: Steps, spec: NetSpec) -> Vectors | None:
    """Return the vectors that globals and metadata add to the stem's points, or None."""
    stem: Stem = spec.stem
    if stem.globals is None and stem.metadata is None:
        return None
    inputs = steps.globals(spec.globals + spec.metadata)
    added = None if stem.globals is None else steps.multiplied(inputs, stem.globals)
    if stem.metadata is None:
        return added
    encoder: MetadataEncoder = stem.metadata
    hidden = Vectors(inputs.first + spec.globals, inputs.stride)
    hidden = steps.multiplied(hidden, encoder.linear1, encoder.activation1)
    hidden = steps.multiplied(hidden, encoder.linear2, encoder.activation2)
    return steps.multiplied(hidden, encoder.linear3, added=added)


def _add_block(steps: Steps, whole: _Trunk, block: Block) -> None:
    """Add the steps of a block, which changes the points of the trunk in place."""
    if isinstance(block, AttentionBlock | FeedForwardBlock):
        steps.add_block(whole.rows(), block)
        return
    trunk = whole.points()
    if isinstance(block, PostActivationBlock):
        inner = steps.activated(trunk, block.conv1, block.norm1, block.activation1)
        steps.activate_sum(trunk, inner, folded(block.conv2, block.norm2), block.activation2)
        steps.release(inner)
        return
    pools = (block.pool_conv,) if isinstance(block, GlobalPoolBlock) else ()
    start = steps.normalized(trunk, block.norm1, block.activation1, readers=(*pools, block.conv1))
    match block:
        case ResidualBlock():
            inner = steps.activated(start, block.conv1, block.norm2, block.activation2, readers=(block.conv2,))
        case GlobalPoolBlock():
            inner = _pool(steps, start, block)
        case NestedBottleneckBlock():
            nested = _Trunk(steps, steps.convolved(start, block.conv1))
            for each in block.blocks:
                _add_block(steps, nested, each)
            within = nested.points()
            inner = steps.normalized(within, block.norm2, block.activation2, readers=(block.conv2,))
            steps.release(within)
        case _:
            assert_never(block)
    steps.release(start)
    # Added to the trunk in float32, in bf16 networks, too: the winrate's mean error is 0.00044 instead of 0.00087.
    steps.add_convolved(trunk, inner, block.conv2)
    steps.release(inner)


def _pool(steps: Steps, start: Points, block: GlobalPoolBlock) -> Points:
    """Return the input of the last convolution of a global pooling block."""
    points = steps.activated(start, block.pool_conv, block.pool_norm, block.pool_activation, exact=True)
    layer = global_pooled(block.pool_bias, steps.area)
    vector = steps.multiplied_pooled(steps.pooled(points), block.pool_conv.outputs, layer)
    steps.release(points)
    return steps.activated(start, block.conv1, block.norm2, block.activation2, vector=vector, readers=(block.conv2,))


def _policy(steps: Steps, points: Points, head: PolicyHead | DensePolicyHead) -> None:
    """Add the steps of the policy head, which write logits [policies, area + 1]."""
    if isinstance(head, DensePolicyHead):
        inner = steps.activated(points, head.conv, head.norm, head.activation, exact=True)
        vector = steps.flat(inner, head.conv.outputs)
        if head.hidden is not None:
            vector = steps.multiplied(vector, head.hidden, head.hidden_activation)
        steps.write(steps.multiplied(vector, head.linear), steps.area + 1, _POLICY)
        return
    channels, stride = head.pool_conv.outputs, steps.area + 1
    inner = steps.activated(points, head.pool_conv, head.pool_norm, head.pool_activation, exact=True)
    pooled = steps.pooled(inner)
    bias = steps.multiplied_pooled(pooled, channels, global_pooled(head.pool_bias, steps.area))
    inner = steps.activated(points, head.conv1, head.norm, head.activation, vector=bias, exact=True)
    steps.write(steps.convolved(inner, head.conv2), head.policies, _POLICY, stride=stride)
    if head.pass_hidden is None:
        passing = steps.multiplied_pooled(pooled, channels, global_pooled(head.pass_linear, steps.area))
    else:
        layer = global_pooled(head.pass_hidden, steps.area)
        passing = steps.multiplied_pooled(pooled, channels, layer, head.pass_activation)
        passing = steps.multiplied(passing, head.pass_linear)
    steps.write(passing, head.policies, _POLICY, first=steps.area, stride=stride)


def _value(steps: Steps, points: Points, head: ValueHead | DenseValueHead) -> None:
    """Add the steps of the value head, which write the other outputs."""
    points = steps.activated(points, head.conv, head.norm, head.activation, exact=True)
    if isinstance(head, DenseValueHead):
        hidden = steps.multiplied(steps.flat(points, head.conv.outputs), head.hidden, head.hidden_activation)
        steps.write(steps.multiplied(hidden, head.result), head.result.outputs, _RESULT)
        return
    layer = value_pooled(head.hidden, steps.area)
    hidden = steps.multiplied_pooled(steps.pooled(points), head.conv.outputs, layer, head.hidden_activation)
    steps.write(steps.multiplied(hidden, head.result), head.result.outputs, _RESULT)
    if head.score is not None:
        steps.write(steps.multiplied(hidden, head.score), head.score.outputs, _SCORE)
    if head.ownership is not None:
        steps.write(steps.convolved(points, head.ownership), 1, _OWNERSHIP)
