"""Builds an OpenVINO model from a `NetSpec`, for one board size and one batch.

Each board size has a model of exactly that size, so no points have to be masked.
"""

from engine.nets.folding import folded, global_pooled, scaled, value_pooled
from engine.nets.openvino_graph.blocks import Board, Trunk, add_block
from engine.nets.openvino_graph.layers import (
    activate,
    activate_vector,
    add_vector,
    convolve,
    global_pool,
    integers,
    multiply,
    normalize,
    normalize_rows,
    split,
    value_pool,
)
from engine.nets.openvino_graph.runtime import Node, openvino, ops
from engine.nets.spec import (
    DensePolicyHead,
    DenseValueHead,
    MetadataEncoder,
    NetSpec,
    Norm,
    PolicyHead,
    Stem,
    Tip,
    ValueHead,
)

PLANES, GLOBALS, TRUNK = "planes", "globals", "trunk"
OUTPUTS = ("policy", "result", "score", "ownership")
"""Names of a model's inputs, of the heads' input, and of its outputs, these in the order of `RawOutputs`."""


def build_model(spec: NetSpec, batch: int, width: int, height: int) -> "openvino.Model":
    """Return the network for exactly `batch` positions on boards of width x height.

    Inputs: planes [batch, planes, height, width] and, if there are any, globals [batch, globals + metadata].
    Outputs, absent where the network has none, from the view of the side to move: policy
    [batch, policies, area + 1] logits, pass last; result [batch, 1..3] before tanh or softmax; score
    [batch, scores]; ownership [batch, area] before tanh. All float32. Reshaping the inputs gives another batch.
    """
    board = Board(width, height)
    planes = ops.parameter([batch, spec.planes, height, width], name=PLANES)
    inputs, vectors = [planes], spec.globals + spec.metadata
    if vectors:
        inputs.append(ops.parameter([batch, vectors], name=GLOBALS))
    trunk = Trunk(board, _stem(planes, inputs[-1], spec))
    for block in spec.blocks:
        trunk = add_block(trunk, block)
    points = trunk.points() if spec.tip is None else _tip(trunk, spec.tip)
    points.set_friendly_name(TRUNK)
    outputs = {"policy": _policy(points, spec.policy, board), **_value(points, spec.value, board)}
    results = []
    for name in OUTPUTS:
        if name in outputs:
            result = ops.result(outputs[name])
            result.get_output_tensor(0).set_names({name})
            results.append(result)
    for parameter in inputs:
        parameter.get_output_tensor(0).set_names({parameter.get_friendly_name()})
    return openvino.Model(results, inputs, spec.name)


def _stem(planes: Node, vector: Node, spec: NetSpec) -> Node:
    """Return the input of the first block. vector: globals and metadata, not read if the network has neither."""
    stem: Stem = spec.stem
    points = convolve(planes, folded(stem.conv, stem.norm))
    globals_ = metadata = vector
    if spec.globals and spec.metadata:
        globals_, metadata = split(vector, 1, [spec.globals, spec.metadata])
    added = []
    if stem.globals is not None:
        added.append(multiply(globals_, scaled(stem.globals, stem.norm)))
    if stem.metadata is not None:
        added.append(_metadata(metadata, stem.metadata, stem.norm))
    if added:
        points = add_vector(points, added[0] if len(added) == 1 else ops.add(*added))
    return activate(points, stem.activation)


def _metadata(vector: Node, encoder: MetadataEncoder, norm: Norm | None) -> Node:
    """Return the vector that the metadata add to the stem's points."""
    hidden = activate_vector(multiply(vector, encoder.linear1), encoder.activation1)
    hidden = activate_vector(multiply(hidden, encoder.linear2), encoder.activation2)
    return multiply(hidden, scaled(encoder.linear3, norm))


def _tip(trunk: Trunk, tip: Tip) -> Node:
    """Return the input of the heads."""
    if isinstance(tip.norm, Norm):
        return activate(normalize(trunk.points(), tip.norm), tip.activation)
    rows = activate(normalize_rows(trunk.rows(), tip.norm), tip.activation)
    return Trunk(trunk.board, rows, in_rows=True).points()


def _policy(points: Node, head: PolicyHead | DensePolicyHead, board: Board) -> Node:
    """Return [B, policies, area + 1] logits."""
    if isinstance(head, DensePolicyHead):
        flat = _flat(activate(convolve(points, folded(head.conv, head.norm)), head.activation))
        if head.hidden is not None:
            flat = activate_vector(multiply(flat, head.hidden), head.hidden_activation)
        return ops.unsqueeze(multiply(flat, head.linear), integers(1))
    pooled = global_pool(activate(convolve(points, folded(head.pool_conv, head.pool_norm)), head.pool_activation))
    bias = scaled(global_pooled(head.pool_bias, board.area), head.norm)
    inner = add_vector(convolve(points, folded(head.conv1, head.norm)), multiply(pooled, bias))
    logits = convolve(activate(inner, head.activation), head.conv2)
    logits = ops.reshape(logits, integers(0, head.policies, board.area), True)
    if head.pass_hidden is None:
        passing = multiply(pooled, global_pooled(head.pass_linear, board.area))
    else:
        hidden = activate_vector(multiply(pooled, global_pooled(head.pass_hidden, board.area)), head.pass_activation)
        passing = multiply(hidden, head.pass_linear)
    return ops.concat([logits, ops.unsqueeze(passing, integers(2))], 2)


def _value(points: Node, head: ValueHead | DenseValueHead, board: Board) -> dict[str, Node]:
    """Return the outputs other than the policy by name."""
    points = activate(convolve(points, folded(head.conv, head.norm)), head.activation)
    if isinstance(head, DenseValueHead):
        hidden = activate_vector(multiply(_flat(points), head.hidden), head.hidden_activation)
        return {"result": multiply(hidden, head.result)}
    hidden = multiply(value_pool(points), value_pooled(head.hidden, board.area))
    hidden = activate_vector(hidden, head.hidden_activation)
    outputs = {"result": multiply(hidden, head.result)}
    if head.score is not None:
        outputs["score"] = multiply(hidden, head.score)
    if head.ownership is not None:
        outputs["ownership"] = _flat(convolve(points, head.ownership))
    return outputs


def _flat(points: Node) -> Node:
    """Turn [B, c, H, W] into [B, c * area]."""
    return ops.reshape(points, integers(0, -1), True)
