"""Reads the checkpoints (`.ckpt`) of KataGo's training, which its distributed and self-play runs save by PyTorch.

Builds what KataGo's exporter would write for the same checkpoint: the averaged weights where there are some, with the
fixed scales of its initialization in the norms and the outputs that only training uses left out. A setting or a tensor
that this file does not know is an error, because it could change what the network computes.
"""

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from engine.nets.spec import (
    Activation,
    Array,
    AttentionBlock,
    Block,
    Conv,
    FeedForwardBlock,
    GlobalPoolBlock,
    Linear,
    MetadataEncoder,
    NestedBottleneckBlock,
    NetSpec,
    Norm,
    PolicyHead,
    ResidualBlock,
    RmsNorm,
    Scales,
    Stem,
    Tip,
    ValueHead,
    ValueKind,
    WeightsError,
    validate,
)
from weights.katago import BOARD_SIZES, LATEST_ENCODER, PASS_ALIVE_ENCODER, SCORES, error_form_of
from weights.katago_blocks import MAX_HEADS, fixed_rope
from weights.katago_description import NEWEST, SCALED_NORMS, checked, config_beside, positive
from weights.torch_file import StoredTensor, TorchFile

_EXPORTED = 11
# KataGo's exporter gives its standard deviations this least variance.
_TINY = 1e-20
_RMS_EPSILON = 1e-6
_POLICIES = {4: [0], 6: [0, 5], 8: [0, 5, 6, 7]}
"""By the number of policies in training: the move, the optimistic one and two predictions of action values."""
_TRAINING_ONLY = (
    "intermediate_",
    "norm_intermediate_trunkfinal.",
    "value_head.linear_s2",
    "value_head.linear_s3.",
    "value_head.linear_smix.",
    "value_head.conv_scoring.",
    "value_head.conv_futurepos.",
    "value_head.conv_seki.",
    "value_head.score_belief_",
)
_RENORM = ".renorm_"


def read(path: str | os.PathLike[str]) -> NetSpec:
    """Read the network of a checkpoint. Raises WeightsError with file and tensor, in one line."""
    name = os.fspath(path)
    try:
        with TorchFile(name) as file:
            return validate(_Checkpoint(file, Path(name)).net())
    except WeightsError as error:
        raise error.in_file(name) from None
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        # A tensor with other dimensions than its layer has.
        raise WeightsError(f"the tensors do not fit their layers: {error}").in_file(name) from None


class _Checkpoint:
    """Builds the network of one checkpoint; `_unread` are the tensors that it has not used yet."""

    def __init__(self, file: TorchFile, path: Path) -> None:
        content = file.content
        if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
            raise WeightsError("not a checkpoint of KataGo's training", expected="a network named model")
        self._file, self._name = file, path.stem
        self._averaged = isinstance(content.get("swa_model"), dict)
        self._tensors = dict(_named(content["swa_model" if self._averaged else "model"]))
        self._unread = set(self._tensors)
        self._config = checked(content["config"] if "config" in content else config_beside(path))
        self._norm_kind = self._config["norm_kind"]
        self._activation = Activation(self._config.get("activation", "relu"))

    def net(self) -> NetSpec:
        """Return the network. Raises WeightsError if a tensor is left over."""
        version = self._version()
        kinds = self._config["block_kind"]
        policy, value = self._policy(), self._value(version)
        spec = NetSpec(
            name=self._name,
            encoder=PASS_ALIVE_ENCODER
            if self._flag("always_compute_pass_alive_under_suicide_rules")
            else LATEST_ENCODER,
            board_sizes=BOARD_SIZES,
            stem=self._stem(),
            blocks=tuple(self._block(f"blocks.{index}", kinds[index][1], index) for index in range(len(kinds))),
            tip=Tip(self._tip_norm(len(kinds)), self._activation),
            policy=policy,
            value=value,
            format="katago",
            version=version,
            provenance=MappingProxyType({"numbers": "averaged weights" if self._averaged else "weights"}),
        )
        left = sorted(name for name in self._unread if not (name.startswith(_TRAINING_ONLY) or _RENORM in name))
        if left:
            raise WeightsError("unknown tensor", layer=left[0], expected="one of an architecture known to Keima")
        return spec

    def _version(self) -> int:
        """Return the version that KataGo's exporter would give the network."""
        version = max(self._config["version"], _EXPORTED)
        newest = self._flag("trunk_final_rmsnorm") or self._flag("always_compute_pass_alive_under_suicide_rules")
        return NEWEST if version >= 15 and newest else version

    def _flag(self, name: str) -> bool:
        return bool(self._config.get(name, False))

    def _has(self, name: str) -> bool:
        return name in self._tensors

    def _array(self, name: str) -> Array:
        if name not in self._tensors:
            raise WeightsError("missing tensor", layer=name)
        self._unread.discard(name)
        return self._file.array(self._tensors[name], name)

    def _conv(self, name: str) -> Conv:
        """Return a convolution; one of a single point beside it, as in RepVGG, is added to its center."""
        weight = self._array(f"{name}.weight")
        if self._has(f"{name}1x1.weight"):
            center = self._array(f"{name}1x1.weight")
            rows, columns = weight.shape[2:]
            weight[:, :, rows // 2, columns // 2] += center[:, :, 0, 0]
        return Conv(weight)

    def _linear(self, name: str) -> Linear:
        bias = self._array(f"{name}.bias") if self._has(f"{name}.bias") else None
        return Linear(np.ascontiguousarray(self._array(f"{name}.weight").T), bias)

    def _norm(self, name: str, factor: float | None = None) -> Norm:
        """Return a norm, or the bias that stands in its place. factor: a fixed scale."""
        bias = self._array(f"{name}.beta").ravel()
        mean, variance = np.zeros_like(bias), np.ones_like(bias)
        if self._has(f"{name}.running_std"):
            mean = self._array(f"{name}.running_mean")
            variance = np.maximum(np.float32(_TINY), self._array(f"{name}.running_std") ** 2)
        scale = None if factor is None else np.full_like(bias, factor)
        if self._has(f"{name}.gamma"):
            gamma = self._array(f"{name}.gamma").ravel()
            gamma = gamma + 1 if self._flag("gamma_weight_decay_center_1") else gamma
            scale = gamma if scale is None else scale * gamma
        return Norm(mean, variance, scale, bias, _TINY)

    def _rms_norm(self, name: str) -> RmsNorm:
        return RmsNorm(self._array(f"{name}.weight"), None, _RMS_EPSILON)

    def _fixed(self, index: int) -> float | None:
        """Return the fixed scale of the first norm of block `index` of its stack, if the norms are scaled."""
        return 1.0 / math.sqrt(index + 1.0) if self._norm_kind in SCALED_NORMS else None

    def _tip_norm(self, blocks: int) -> Norm | RmsNorm:
        name = "norm_trunkfinal"
        if not self._flag("trunk_final_rmsnorm"):
            return self._norm(name, self._fixed(blocks))
        spatial = self._flag("trunk_rmsnorm_spatial")
        weight = self._array(f"{name}.gamma" if spatial else f"{name}.norm.weight")
        return RmsNorm(weight, self._array(f"{name}.beta"), _RMS_EPSILON, spatial)

    def _stem(self) -> Stem:
        return Stem(self._conv("conv_spatial"), self._linear("linear_global"), self._metadata())

    def _metadata(self) -> MetadataEncoder | None:
        if not self._config.get("metadata_encoder"):
            return None
        name = "metadata_encoder"
        first, last = self._linear(f"{name}.linear1"), self._linear(f"{name}.linear_output_to_trunk")
        masked = Linear(first.weight * self._array(f"{name}.feature_mask")[:, None], first.bias)
        # KataGo halves what the metadata adds to the trunk.
        halved = Linear(last.weight * np.float32(0.5), last.bias)
        return MetadataEncoder(masked, self._linear(f"{name}.linear2"), halved, self._activation, self._activation)

    def _block(self, name: str, kind: str, index: int) -> Block:
        """Return block `index` of a stack. kind: KataGo's name of it."""
        plain = kind.removesuffix("gpool")
        if plain == "regular":
            return self._residual(name, index)
        if plain in ("bottlenest2", "bottlenest3"):
            return self._nested(name, index, ["regular"] * int(plain[-1]))
        if kind == "attnrope":
            return self._attention(name)
        if kind in ("ffnsg", "ffng"):
            return self._feed_forward(name)
        if kind in _NESTED_TRANSFORMERS:
            feed_forward = "ffnsg" if kind.endswith("sg") else "ffng"
            return self._nested(name, index, ["attnrope", feed_forward] * int(kind[len("bottlenest")]))
        known = "regular, bottlenest2, bottlenest3 (gpool), attnrope, ffnsg, ffng, " + ", ".join(_NESTED_TRANSFORMERS)
        raise WeightsError("unknown kind of block", layer=name, expected=known, got=kind)

    def _residual(self, name: str, index: int) -> Block:
        first, second = f"{name}.normactconv1", f"{name}.normactconv2"
        norm1 = self._norm(f"{first}.norm", self._fixed(index))
        norm2, conv2 = self._norm(f"{second}.norm"), self._conv(f"{second}.conv")
        act, pool = self._activation, f"{first}.convpool"
        if not self._has(f"{pool}.conv1r.weight"):
            return ResidualBlock(norm1, self._conv(f"{first}.conv"), norm2, conv2, act, act)
        conv1, pool_conv = self._conv(f"{pool}.conv1r"), self._conv(f"{pool}.conv1g")
        pool_norm, pool_bias = self._norm(f"{pool}.normg"), self._linear(f"{pool}.linear_g")
        return GlobalPoolBlock(norm1, conv1, pool_conv, pool_norm, pool_bias, norm2, conv2, act, act, act)

    def _nested(self, name: str, index: int, kinds: list[str]) -> Block:
        """Return a bottleneck. kinds: of the blocks in it."""
        first, last = f"{name}.normactconvp", f"{name}.normactconvq"
        inner = tuple(self._block(f"{name}.blockstack.{each}", kinds[each], each) for each in range(len(kinds)))
        # An attention block and the feed-forward block after it count as one.
        count = len(kinds) if kinds[0] == "regular" else len(kinds) // 2
        return NestedBottleneckBlock(
            self._norm(f"{first}.norm", self._fixed(index)),
            self._conv(f"{first}.conv"),
            inner,
            self._norm(f"{last}.norm", self._fixed(count)),
            self._conv(f"{last}.conv"),
            self._activation,
            self._activation,
        )

    def _attention(self, name: str) -> Block:
        heads = positive(self._config, "transformer_heads")
        kv_heads = positive(self._config, "transformer_kv_heads", heads)
        if max(heads, kv_heads) > MAX_HEADS:
            raise WeightsError("too many heads", layer=name, expected=f"<= {MAX_HEADS}", got=max(heads, kv_heads))
        query, key = self._linear(f"{name}.q_proj"), self._linear(f"{name}.k_proj")
        if self._flag("learnable_rope"):
            rope = self._array(f"{name}.rope_freqs")
        else:
            theta = self._config.get("rope_theta", 100.0)
            if not isinstance(theta, int | float) or not theta > 0:
                raise WeightsError("bad setting", layer="rope_theta", expected="> 0", got=theta)
            rope = fixed_rope(kv_heads, query.outputs // heads // 2, theta)
        norm, value = self._rms_norm(f"{name}.norm1"), self._linear(f"{name}.v_proj")
        return AttentionBlock(norm, query, key, value, self._linear(f"{name}.out_proj"), heads, kv_heads, rope)

    def _feed_forward(self, name: str) -> Block:
        norm, expand = self._rms_norm(f"{name}.norm"), self._linear(f"{name}.ffn_linear1")
        contract = self._linear(f"{name}.ffn_linear2")
        if self._has(f"{name}.ffn_linear_gate.weight"):
            return FeedForwardBlock(norm, expand, contract, self._linear(f"{name}.ffn_linear_gate"))
        return FeedForwardBlock(norm, expand, contract, None, self._activation)

    def _policy(self) -> PolicyHead:
        name, act = "policy_head", self._activation
        conv2, hidden = self._conv(f"{name}.conv2p"), None
        passing = self._linear(f"{name}.linear_pass")
        if self._has(f"{name}.linear_pass2.weight"):
            hidden, passing = passing, self._linear(f"{name}.linear_pass2")
        if conv2.outputs not in _POLICIES:
            raise WeightsError(
                "wrong number of policies", layer=f"{name}.conv2p", expected="4, 6 or 8", got=conv2.outputs
            )
        chosen = _POLICIES[conv2.outputs]
        if passing.outputs != conv2.outputs:
            raise WeightsError("wrong shape", layer=f"{name}.linear_pass", expected=conv2.outputs, got=passing.outputs)
        return PolicyHead(
            conv1=self._conv(f"{name}.conv1p"),
            pool_conv=self._conv(f"{name}.conv1g"),
            pool_norm=self._norm(f"{name}.biasg"),
            pool_bias=self._linear(f"{name}.linear_g"),
            norm=self._norm(f"{name}.bias2"),
            conv2=Conv(conv2.weight[chosen]),
            pass_linear=Linear(np.ascontiguousarray(passing.weight[:, chosen])),
            pass_hidden=hidden,
            pool_activation=act,
            activation=act,
            pass_activation=act,
            # The optimistic policy is not used with networks that imitate people.
            optimistic=1 if len(chosen) > 1 and not self._config.get("metadata_encoder") else 0,
        )

    def _value(self, version: int) -> ValueHead:
        name, act = "value_head", self._activation
        misc, more = (self._linear(f"{name}.linear_{part}miscvaluehead") for part in ("", "more"))
        if misc.bias is None or more.bias is None or misc.outputs < 4 or more.outputs < 2:
            raise WeightsError("too few outputs", layer=f"{name}.linear_miscvaluehead", expected="4 and 2")
        # Mean, deviation, lead and variance time, then the short-term errors.
        score = Linear(
            np.concatenate([misc.weight[:, :4], more.weight[:, :2]], axis=1),
            np.concatenate([misc.bias[:4], more.bias[:2]]),
        )
        return ValueHead(
            meaning=ValueKind.SOFTMAX,
            conv=self._conv(f"{name}.conv1"),
            norm=self._norm(f"{name}.bias1"),
            hidden=self._linear(f"{name}.linear2"),
            result=self._linear(f"{name}.linear_valuehead"),
            score=score,
            ownership=self._conv(f"{name}.conv_ownership"),
            activation=act,
            hidden_activation=act,
            scores=SCORES,
            scales=Scales() if version <= 12 else Scales(score_error=150.0),
            error_form=error_form_of(version),
        )


_NESTED_TRANSFORMERS = (
    "bottlenest2transformerrope",
    "bottlenest2transformerropesg",
    "bottlenest3transformerropesg",
)


def _named(tensors: Mapping[object, object]) -> Iterator[tuple[str, StoredTensor]]:
    """Yield the tensors of a model, without the prefixes of parallel, compiled and averaged models."""
    for key, tensor in tensors.items():
        if isinstance(key, str) and isinstance(tensor, StoredTensor) and key != "n_averaged":
            while key.startswith(("module.", "_orig_mod.")):
                key = key.partition(".")[2]
            yield key, tensor
