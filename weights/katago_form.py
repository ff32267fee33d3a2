"""Rewrites a network so that KataGo's file format can hold it, without changing what it computes.

KataGo's layers have fewer biases than Keima's, and its heads have more outputs. A bias before a norm moves into the
norm's mean, one on the whole trunk becomes a weight of the plane that is 1 everywhere, and any other becomes the weight
of an extra constant channel. The policy may change by a constant, which the softmax cancels. Missing outputs become
zero, except that a missing mean score is filled with the lead and vice versa. Networks that the format cannot hold are
refused.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

import numpy as np

from engine.nets.spec import (
    Activation,
    Array,
    AttentionBlock,
    Block,
    Conv,
    DensePolicyHead,
    DenseValueHead,
    ErrorForm,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    MetadataEncoder,
    NestedBottleneckBlock,
    NetSpec,
    PolicyHead,
    ResidualBlock,
    RmsNorm,
    Scales,
    Score,
    Stem,
    Tip,
    ValueHead,
    ValueKind,
    all_blocks,
    validate,
)
from weights.katago import LATEST_ENCODER, LATEST_INPUTS, NEWEST, PASS_ALIVE_ENCODER, error_form_of, scores_of
from weights.katago_layers import NAMED_ACTIVATIONS
from weights.rewriting import (
    absorbed,
    more_input,
    more_inputs,
    more_outputs,
    more_pooled,
    more_terms,
    refuse,
    with_bias,
    without_bias,
)

# First version with the inputs of `LATEST_ENCODER`.
_OLDEST = 8
# Logit of a result with probability 0.
_NEVER = -1e4
# First and last version with each form of short-term error.
_ERROR_FORMS = {ErrorForm.LINEAR: (9, 9), ErrorForm.ROOT: (10, 13), ErrorForm.SQUARED: (14, NEWEST)}


# Replacement of a score that the network does not predict.
_EACH_OTHER = {Score.MEAN: Score.LEAD, Score.LEAD: Score.MEAN}


def katago_form(spec: NetSpec) -> NetSpec:
    """Return an equal network in KataGo's form, of the lowest version that can hold it.

    A network that came from KataGo keeps at least its own version. Raises WeightsError with the first layer that the
    format cannot hold.
    """
    validate(spec)
    if spec.encoder not in (LATEST_ENCODER, PASS_ALIVE_ENCODER):
        raise refuse("encoder", f"{LATEST_ENCODER} or {PASS_ALIVE_ENCODER}", spec.encoder)
    if isinstance(spec.policy, DensePolicyHead) or isinstance(spec.value, DenseValueHead):
        raise refuse("policy", "heads for every board size", "dense heads")
    if not spec.blocks:
        raise refuse("blocks", "at least one", 0)
    version = lowest_version(spec)
    human = spec.stem.metadata is not None
    return validate(
        replace(
            spec,
            stem=_stem(spec.stem),
            blocks=tuple(_block(block, f"blocks.{index}") for index, block in enumerate(spec.blocks)),
            tip=_tip(spec.tip),
            policy=_policy(spec.policy, version, human),
            value=_value(spec.value, version),
            format="katago",
            version=version,
        )
    )


def lowest_version(spec: NetSpec) -> int:
    """Return the lowest model version that can hold a network with KataGo's heads."""
    policy, value = spec.policy, spec.value
    assert isinstance(policy, PolicyHead)
    assert isinstance(value, ValueHead)
    if policy.pass_hidden is None:
        policy = replace(policy, pass_activation=Activation.RELU)
    kinds = {type(block) for block in all_blocks(spec.blocks)}
    needs = {
        _OLDEST: True,
        9: Score.VARIANCE_TIME in value.scores,
        NAMED_ACTIVATIONS: bool({*_activations((spec.blocks, spec.tip, policy, value))} - {Activation.RELU}),
        12: policy.optimistic > 0,
        13: value.scales != Scales(),
        15: policy.pass_hidden is not None or spec.stem.metadata is not None,
        NEWEST: bool(kinds & {AttentionBlock, FeedForwardBlock})
        or spec.encoder == PASS_ALIVE_ENCODER
        or (spec.tip is not None and isinstance(spec.tip.norm, RmsNorm)),
    }
    version = max(each for each, needed in needs.items() if needed)
    if spec.format == "katago":
        version = max(version, spec.version)
    if {Score.VALUE_ERROR, Score.SCORE_ERROR} & set(value.scores):
        first, last = _ERROR_FORMS[value.error_form]
        version = max(version, first)
        if version > last:
            raise refuse("value", f"short-term errors of the form {error_form_of(version)}", value.error_form)
    return version


def _activations(node: object) -> Iterator[Activation]:
    """Yield every activation below a node."""
    if isinstance(node, Activation):
        yield node
    elif isinstance(node, tuple):
        for child in node:
            yield from _activations(child)
    elif is_dataclass(node):
        for entry in fields(node):
            yield from _activations(getattr(node, entry.name))


def _stem(stem: Stem) -> Stem:
    if stem.norm is not None:
        raise refuse("stem.norm", "none", "a norm")
    outputs = stem.conv.outputs
    globals_ = stem.globals or Linear(np.zeros((LATEST_INPUTS[1], outputs), np.float32))
    metadata, last = stem.metadata, None
    if metadata is not None:
        last = metadata.linear3.bias
        metadata = MetadataEncoder(
            with_bias(metadata.linear1),
            with_bias(metadata.linear2),
            without_bias(metadata.linear3),
            metadata.activation1,
            metadata.activation2,
        )
    weight = stem.conv.weight.copy()
    rows, columns = weight.shape[2:]
    for bias in (stem.conv.bias, globals_.bias, last):
        if bias is not None:
            # Plane 0 is 1 on every point of the board, so its central weight acts as a bias.
            weight[:, 0, rows // 2, columns // 2] += bias
    return Stem(Conv(weight), without_bias(globals_), metadata)


def _tip(tip: Tip | None) -> Tip:
    if tip is None:
        raise refuse("tip", "a norm", "none")
    # KataGo's format has no flag for a missing bias here.
    if isinstance(tip.norm, RmsNorm) and tip.norm.bias is None:
        return replace(tip, norm=replace(tip.norm, bias=np.zeros_like(tip.norm.weight)))
    return tip


def _block(block: Block, path: str) -> Block:
    match block:
        case ResidualBlock():
            return _residual(block)
        case GlobalPoolBlock():
            return _global_pool(block)
        case NestedBottleneckBlock():
            if block.conv2.bias is not None and block.conv2.bias.any():
                raise refuse(f"{path}.conv2.bias", "none", "a bias")
            inner = tuple(_block(each, f"{path}.blocks.{index}") for index, each in enumerate(block.blocks))
            if not inner:
                raise refuse(f"{path}.blocks", "at least one", 0)
            # conv1's bias would stay in the inner trunk and reach the norm of every inner block.
            if block.conv1.bias is not None and block.conv1.bias.any():
                raise refuse(f"{path}.conv1.bias", "none", "a bias")
            return replace(block, blocks=inner, conv1=without_bias(block.conv1), conv2=without_bias(block.conv2))
        case AttentionBlock():
            for name in ("query", "key", "value", "output"):
                _check_unbiased(f"{path}.{name}", getattr(block, name).bias)
            _check_plain(f"{path}.norm", block.norm)
            return block
        case FeedForwardBlock():
            if block.gate is None or block.activation is not Activation.SILU:
                raise refuse(
                    path, "silu with a gate", f"{block.activation}, {'no gate' if block.gate is None else 'a gate'}"
                )
            for name in ("expand", "gate", "contract"):
                _check_unbiased(f"{path}.{name}", getattr(block, name).bias)
            _check_plain(f"{path}.norm", block.norm)
            return block
        case _:
            raise refuse(path, "one of KataGo's blocks", type(block).__name__)


def _check_unbiased(path: str, bias: Array | None) -> None:
    if bias is not None:
        raise refuse(f"{path}.bias", "none", "a bias")


def _check_plain(path: str, norm: RmsNorm) -> None:
    if norm.spatial or norm.bias is not None:
        raise refuse(path, "a norm of each point, without a bias", "another")


def _residual(block: ResidualBlock) -> ResidualBlock:
    conv1, norm2 = absorbed(block.conv1, block.norm2)
    conv2 = block.conv2
    if conv2.bias is not None and conv2.bias.any():
        conv1, norm2 = more_outputs(conv1, norm2, 1, 1.0)
        conv2 = more_input(conv2, block.activation2, conv2.bias)
    return replace(block, conv1=conv1, norm2=norm2, conv2=without_bias(conv2))


def _global_pool(block: GlobalPoolBlock) -> GlobalPoolBlock:
    conv1, norm2 = absorbed(block.conv1, block.norm2)
    pool_conv, pool_norm = absorbed(block.pool_conv, block.pool_norm)
    pool_bias, norm2 = absorbed(block.pool_bias, norm2)
    conv2 = block.conv2
    if conv2.bias is not None and conv2.bias.any():
        conv1, norm2 = more_outputs(conv1, norm2, 1, 1.0)
        pool_bias = more_terms(pool_bias, outputs=1)
        conv2 = more_input(conv2, block.activation2, conv2.bias)
    return replace(
        block,
        conv1=conv1,
        norm2=norm2,
        pool_conv=pool_conv,
        pool_norm=pool_norm,
        pool_bias=pool_bias,
        conv2=without_bias(conv2),
    )


def _policy(head: PolicyHead, version: int, human: bool) -> PolicyHead:
    head = _chosen_policies(head, _policies(head, version), human)
    conv1, norm = absorbed(head.conv1, head.norm)
    pool_conv, pool_norm = absorbed(head.pool_conv, head.pool_norm)
    pool_bias, norm = absorbed(head.pool_bias, norm)
    conv2, pass_linear = head.conv2, head.pass_linear
    # The softmax only sees the difference between points and pass.
    difference = np.zeros(head.policies, np.float32)
    difference += 0.0 if conv2.bias is None else conv2.bias
    difference -= 0.0 if pass_linear.bias is None else pass_linear.bias
    conv2, pass_linear = without_bias(conv2), without_bias(pass_linear)
    if difference.any():
        conv1, norm = more_outputs(conv1, norm, 1, 1.0)
        pool_bias = more_terms(pool_bias, outputs=1)
        conv2 = more_input(conv2, head.activation, difference)
    hidden, pass_activation = head.pass_hidden, head.pass_activation
    if version >= 15:
        if hidden is None:
            # Version 15 has a hidden layer for the pass; an identity after it leaves the result unchanged.
            identity = Linear(np.eye(head.policies, dtype=np.float32))
            hidden, pass_linear, pass_activation = pass_linear, identity, Activation.IDENTITY
        hidden = with_bias(hidden)
        # KataGo requires equal widths here.
        lacking = max(0, hidden.outputs - conv1.outputs)
        conv1, norm = more_outputs(conv1, norm, lacking, 0.0)
        pool_bias, conv2 = more_terms(pool_bias, outputs=lacking), more_inputs(conv2, lacking)
        lacking = conv1.outputs - hidden.outputs
        hidden, pass_linear = more_terms(hidden, outputs=lacking), more_terms(pass_linear, inputs=lacking)
    return replace(
        head,
        conv1=conv1,
        norm=norm,
        pool_conv=pool_conv,
        pool_norm=pool_norm,
        pool_bias=pool_bias,
        conv2=conv2,
        pass_hidden=hidden,
        pass_linear=pass_linear,
        pass_activation=pass_activation,
    )


def _policies(head: PolicyHead, version: int) -> int:
    """Return the number of policy channels that a version requires."""
    if version < 12:
        return 1
    return 4 if version == 16 or (version == NEWEST and head.policies == 4) else 2


def _chosen_policies(head: PolicyHead, count: int, human: bool) -> PolicyHead:
    """Return the head with `count` policy channels, the optimistic one second."""
    optimistic = 1 if count > 1 and not human else 0
    if head.policies == count and head.optimistic == optimistic:
        return head
    chosen = [0, head.optimistic, 0, 0][:count]

    def of(bias: Array | None) -> Array | None:
        return None if bias is None else bias[chosen]

    return replace(
        head,
        conv2=Conv(head.conv2.weight[chosen], of(head.conv2.bias)),
        pass_linear=Linear(head.pass_linear.weight[:, chosen], of(head.pass_linear.bias)),
        optimistic=optimistic,
    )


def _value(head: ValueHead, version: int) -> ValueHead:
    if head.no_result_always or Score.BOARD_MEAN in head.scores:
        raise refuse("value", "the values of model version 8 and later", "those of version 3")
    conv, norm = absorbed(head.conv, head.norm)
    hidden, ownership = with_bias(head.hidden), head.ownership
    if ownership is None:
        ownership = Conv(np.zeros((1, conv.outputs, 1, 1), np.float32))
    if ownership.bias is not None and ownership.bias.any():
        conv, norm = more_outputs(conv, norm, 1, 1.0)
        hidden = more_pooled(hidden, 1)
        ownership = more_input(ownership, head.activation, ownership.bias)
    return replace(
        head,
        meaning=ValueKind.SOFTMAX,
        conv=conv,
        norm=norm,
        hidden=hidden,
        result=_result(with_bias(head.result), head.meaning),
        score=_scores(head, scores_of(version)),
        scores=scores_of(version),
        ownership=without_bias(ownership),
        error_form=error_form_of(version),
    )


def _result(layer: Linear, meaning: ValueKind) -> Linear:
    """Return the logits of win, loss and no result."""
    assert layer.bias is not None
    weight, bias = layer.weight, layer.bias
    if meaning is ValueKind.TANH:
        # tanh(x) is the difference of the two probabilities that the softmax of x and -x gives.
        weight, bias = np.concatenate([weight, -weight], axis=1), np.concatenate([bias, -bias])
    if len(bias) == 2:
        weight = np.concatenate([weight, np.zeros((len(weight), 1), np.float32)], axis=1)
        bias = np.append(bias, np.float32(_NEVER))
    return Linear(weight, bias)


def _scores(head: ValueHead, wanted: tuple[Score, ...]) -> Linear:
    """Return the layer of all score outputs of a version."""
    rows = len(head.result.weight)
    weight, bias = np.zeros((rows, len(wanted)), np.float32), np.zeros(len(wanted), np.float32)
    for index, meaning in enumerate(wanted):
        source = meaning if meaning in head.scores else _EACH_OTHER.get(meaning, meaning)
        if head.score is None or source not in head.scores:
            continue
        place = head.scores.index(source)
        same = source is meaning
        # Outputs are multiplied by their scale, so a replacement needs the ratio of the scales.
        factor = np.float32(1.0 if same else getattr(head.scales, source) / getattr(head.scales, meaning))
        weight[:, index] = head.score.weight[:, place] * factor
        if head.score.bias is not None:
            bias[index] = head.score.bias[place] * factor
    return Linear(weight, bias)
