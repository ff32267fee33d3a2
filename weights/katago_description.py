"""Checks the description of a network in a checkpoint of KataGo's training, setting by setting.

Every setting must be known: an unknown one could change what the network computes.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.nets.spec import Activation, WeightsError
from weights.katago_blocks import MAX_BLOCKS

CONFIG = "model.config.json"
"""The file beside a checkpoint of an older KataGo that describes the network."""
_OLDEST, NEWEST = 10, 17
SCALED_NORMS = ("fixscale", "fixbrenorm", "fixscaleonenorm")
"""Kinds of norms with fixed scales, which follow from the place of the norm."""
_NORMS = ("fixup", "bnorm", "brenorm", *SCALED_NORMS)
_SETTINGS = frozenset(
    (
        "version",
        "norm_kind",
        "bnorm_epsilon",
        "bnorm_running_avg_momentum",
        "bnorm_use_gamma",
        "gamma_weight_decay_center_1",
        "initial_conv_1x1",
        "trunk_num_channels",
        "mid_num_channels",
        "outermid_num_channels",
        "gpool_num_channels",
        "block_kind",
        "p1_num_channels",
        "g1_num_channels",
        "v1_num_channels",
        "sbv2_num_channels",
        "num_scorebeliefs",
        "v2_size",
        "activation",
        "use_repvgg_init",
        "use_repvgg_linear",
        "use_repvgg_learning_rate",
        "has_intermediate_head",
        "intermediate_head_blocks",
        "trunk_normless",
        "trunk_final_rmsnorm",
        "trunk_rmsnorm_spatial",
        "metadata_encoder",
        "predict_q_values",
        "transformer_heads",
        "transformer_kv_heads",
        "transformer_ffn_channels",
        "attention_query_head_dim",
        "attention_value_head_dim",
        "learnable_rope",
        "rope_theta",
        "always_compute_pass_alive_under_suicide_rules",
    )
)
_OFF = frozenset(
    (
        "use_trunk_channel_gate",
        "use_trunk_residual_backout",
        "trunk_residual_backout_noreg",
        "inline_registers",
        "attention_num_rw_registers",
        "attention_qk_norm",
        "transformer_ffn_depthwise_conv",
        "rmsnorm_spatial_cgroup_size",
    )
)
"""Settings that no format of networks can hold unless they are off; nor can KataGo's exporter."""


def config_beside(path: Path) -> object:
    """Return the description of the network beside a checkpoint that has none."""
    try:
        return json.loads(path.with_name(CONFIG).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise WeightsError(
            "no description of the network", expected=f"config in the checkpoint, or {CONFIG} beside it", got=error
        ) from None


def checked(config: object) -> dict[str, Any]:
    """Return a description all of whose settings are known. Raises WeightsError."""
    if not isinstance(config, dict):
        raise WeightsError("bad description of the network", layer="config", got=type(config).__name__)
    for name, value in config.items():
        if name in _OFF and value:
            raise WeightsError("architecture without a file format", layer=str(name), expected="off", got=value)
        if name not in _SETTINGS and name not in _OFF and not str(name).startswith(("gab_", "tab_")):
            raise WeightsError("unknown setting of the network", layer=str(name), got=value)
    version, kinds = config.get("version"), config.get("block_kind")
    if type(version) is not int or not _OLDEST <= version <= NEWEST:
        raise WeightsError("unknown version", layer="version", expected=f"{_OLDEST} to {NEWEST}", got=version)
    if config.get("norm_kind") not in _NORMS:
        raise WeightsError("unknown norm", layer="norm_kind", expected=" or ".join(_NORMS), got=config.get("norm_kind"))
    activation = config.get("activation", "relu")
    if activation not in tuple(Activation):
        raise WeightsError("unknown activation", layer="activation", expected=" or ".join(Activation), got=activation)
    if not isinstance(kinds, list) or not 1 <= len(kinds) <= MAX_BLOCKS:
        raise WeightsError("bad blocks", layer="block_kind", expected=f"a list of 1 to {MAX_BLOCKS}")
    for index, kind in enumerate(kinds):
        if not isinstance(kind, list | tuple) or len(kind) != 2 or not isinstance(kind[1], str):
            raise WeightsError("bad block", layer=f"block_kind.{index}", expected="a name and a kind")
    return config


def positive(config: Mapping[str, Any], name: str, default: int = 0) -> int:
    """Return a setting that is a whole number above 0. Raises WeightsError."""
    value = config.get(name, default)
    if type(value) is not int or value < 1:
        raise WeightsError("bad setting", layer=name, expected=">= 1", got=value)
    return value
