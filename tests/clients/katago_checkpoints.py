"""Checkpoints of KataGo's training beside KataGo's own model: python -m tests.clients.katago_checkpoints KATAGO/python.

Makes networks of the architectures in KataGo's source with random weights and statistics, saves them as its training
does, reads them with Keima, and compares what both compute of random inputs, on boards smaller than KataGo's tensors,
too. Needs PyTorch and the package `packaging`.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from engine.nets.torch_modules.model import TorchModel
from weights.katago import METADATA_INPUTS
from weights.katago_form import katago_form
from weights.katago_writer import to_gzip
from weights.registry import load

SMALL = {"trunk_num_channels": 16, "mid_num_channels": 8, "gpool_num_channels": 4, "v2_size": 12}
NAMES = (
    "b2c16",
    "b2c16-bn",
    "b2c16-bng-mish-rvgl",
    "b2c16-fs-silu",
    "b2c16-brng",
    "b2c16-fbrng-mish",
    "b2c16-fson-mish-rvgl-bnh",
    "b2c16-fson-mish-rvgl-bnh-meta",
    "b1c6nbt",
    "b1c6nbt-fson-mish-rvglr-bnh",
    "b1c6nbt-fson-silu-rsnh",
    "b1c6nbt-fson-silu-rnh",
    "b7c96h3tfrs",
    "b7c96h6kv3qk32v16tflrs",
    "b5c384h6nbttflrs-fson-silu-rsnh",
    "b2b5c384h6nbttflrs-fson-silu-rnh",
)
"""KataGo's names: residual and nested blocks, every kind of norm, repvgg, heads of a normless trunk, transformers."""
OLD = ({"version": 10}, {"version": 12}, {"version": 14}, {"version": 16}, {"version": 17, "predict_q_values": True})
SIDE, SMALLER, BATCH = 9, 7, 4


def randomized(model: Any, seed: int) -> None:
    """Give all parameters and statistics random values that keep the outputs of moderate size."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in model.state_dict().items():
        if name.endswith(("running_std", "renorm_running_std")):
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif tensor.is_floating_point() and not name.endswith(("feature_mask", "rope_freqs")):
            tensor.add_(0.1 * torch.randn(tensor.shape, generator=generator))


def inputs(side: int, metadata: bool, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Return planes [BATCH, 22, SIDE, SIDE] of boards of `side` at the top left, globals and metadata."""
    draw = torch.Generator().manual_seed(seed)
    planes = torch.zeros(BATCH, 22, SIDE, SIDE)
    planes[:, :, :side, :side] = torch.rand(BATCH, 22, side, side, generator=draw)
    planes[:, 0, :side, :side] = 1
    people = torch.rand(BATCH, METADATA_INPUTS, generator=draw) if metadata else None
    return planes, torch.rand(BATCH, 19, generator=draw), people


def difference(model: Any, spec: Any, side: int, seed: int) -> float:
    """Return the largest difference between the outputs of KataGo's model and of the network that Keima read."""
    planes, globals_, people = inputs(side, model.metadata_encoder is not None, seed)
    with torch.no_grad():
        theirs = model(planes, globals_, people)[0] if people is not None else model(planes, globals_)[0]
        joined = globals_ if people is None else torch.cat([globals_, people], 1)
        ours = TorchModel(spec).eval()(planes[:, :, :side, :side].contiguous(), joined)
    policy, value, misc, more, ownership = theirs[:5]
    chosen = {4: [0], 6: [0, 5], 8: [0, 5, 6, 7]}[policy.shape[1]]
    points = policy[:, chosen, :-1].unflatten(2, (SIDE, SIDE))[:, :, :side, :side].flatten(2)
    pairs = [
        (torch.cat([points, policy[:, chosen, -1:]], 2), ours.policy.reshape(BATCH, len(chosen), -1)),
        (value, ours.result),
        (torch.cat([misc[:, :4], more[:, :2]], 1), ours.score),
        (ownership[:, 0, :side, :side].reshape(BATCH, -1), ours.ownership.reshape(BATCH, -1)),
    ]
    return max(float((left - right).abs().max()) for left, right in pairs)


def main() -> int:
    """Compare every architecture, print the differences, and return 1 if one is too large."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients.katago_checkpoints")
    parser.add_argument("source", help="KataGo's folder python")
    sys.path.insert(0, parser.parse_args().source)
    from katago.train import modelconfigs  # type: ignore[import-not-found]
    from katago.train.model_pytorch import Model  # type: ignore[import-not-found]

    cases = [(name, modelconfigs.config_of_name[name]) for name in NAMES]
    cases += [(f"b2c16-fson, {changes}", modelconfigs.config_of_name["b2c16-fson"] | changes) for changes in OLD]
    worst = 0.0
    for seed, (name, config) in enumerate(cases):
        torch.manual_seed(seed)
        model = Model(config, SIDE)
        model.initialize()
        randomized(model, seed)
        model.eval()
        with tempfile.TemporaryDirectory() as folder:
            path, written = Path(folder) / "model.ckpt", Path(folder) / "model.bin.gz"
            averaged = torch.optim.swa_utils.AveragedModel(model)
            torch.save({"model": model.state_dict(), "swa_model": averaged.state_dict(), "config": config}, path)
            spec = load(path)
            written.write_bytes(to_gzip(katago_form(spec)))
            found = [difference(model, each, side, seed) for each in (spec, load(written)) for side in (SIDE, SMALLER)]
        worst = max(worst, *found)
        print(f"{name}: version {spec.version}, largest differences {' '.join(f'{each:.1e}' for each in found)}")
    print(f"{len(cases)} networks, largest difference {worst:.1e}")
    return 0 if np.isfinite(worst) and worst < 2e-4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
