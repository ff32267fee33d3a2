"""Inputs that never varied in training, such as the rules of all games, do not change what the network answers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.nets.constant_inputs import inputs_without_effect, without_inputs
from engine.nets.spec import NetSpec
from engine.train.data.samples import Samples
from tests.train.random_data import MadeUpSource, learnable_samples, tiny_config

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.train.learning.checkpoint import newest_checkpoint, restore_module  # noqa: E402
from engine.train.learning.input_ranges import InputRanges  # noqa: E402
from engine.train.learning.network import TrainableNet, default_spec  # noqa: E402
from engine.train.learning.train import train  # noqa: E402

ENCODER = "katago-v7"
SUPERKO, POSITIONAL, SUICIDE, TERRITORY = (
    ENCODERS[ENCODER].global_names.index(name)
    for name in ("superko", "positional or situational", "suicide", "territory")
)
RULES = {SUPERKO: 1.0, POSITIONAL: 0.5, SUICIDE: 1.0, TERRITORY: 0.0}
CONFIG = tiny_config(encoder=ENCODER, steps=6, learning_rate=0.05)


def _samples(rules: dict[int, float]) -> Samples:
    """Return samples of whole boards under one rule set; what other global inputs say varies."""
    samples = learnable_samples(64, 1, ENCODER)
    planes, globals_ = samples.planes.copy(), samples.globals.copy()
    planes[:, ENCODERS[ENCODER].plane_names.index("on board")] = 255
    for index, value in rules.items():
        globals_[:, index] = value
    return samples.with_arrays({"planes": planes, "globals": globals_})


def _answers(net: TrainableNet, globals_: np.ndarray) -> Any:
    planes = torch.from_numpy(np.random.default_rng(2).integers(0, 2, (len(globals_), 22, 5, 5)).astype(np.float32))
    planes[:, ENCODERS[ENCODER].plane_names.index("on board")] = 1.0
    with torch.no_grad():
        return net.eval()(planes, torch.from_numpy(globals_)).outputs


def _trained(spec: NetSpec, run: Path) -> TrainableNet:
    """Return the average of a run's weights as it is in the checkpoint."""
    net, checkpoint = TrainableNet(spec), newest_checkpoint(run)
    assert checkpoint is not None
    restore_module(net, checkpoint, "ema")
    return net


def test_a_network_answers_under_all_rules_as_under_the_only_ones_that_it_saw(tmp_path: Path) -> None:
    samples = _samples(RULES)
    written = train(CONFIG, MadeUpSource(samples=samples), tmp_path).net
    assert inputs_without_effect(written) == sorted(RULES)
    known = samples.globals[:8]
    others = known.copy()
    others[:, list(RULES)] = 1.0 - known[:, list(RULES)]
    expected = _answers(_trained(written, tmp_path), known)
    for globals_ in (known, others):
        for mine, theirs in zip(_answers(TrainableNet(written), globals_), expected, strict=True):
            if theirs is not None:
                torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)
    unknown = _answers(_trained(written, tmp_path), others)
    assert float((unknown.policy - expected.policy).abs().max()) > 1e-2, "before, other rules changed the answers"


def test_what_a_network_knows_of_an_input_from_earlier_training_stays(tmp_path: Path) -> None:
    knows = replace(default_spec(2, 8, encoder=ENCODER), provenance={"made by": "hand"})
    ignores = without_inputs(knows, {SUICIDE: 1.0}, 0)
    for name, start, idle in (("knows", knows, []), ("ignores", ignores, [SUICIDE])):
        result = train(CONFIG, MadeUpSource(samples=_samples(RULES)), tmp_path / name, start=start)
        assert inputs_without_effect(result.net) == idle


def test_an_input_that_varied_before_a_run_was_resumed_stays() -> None:
    spec = default_spec(2, 8, encoder=ENCODER)
    first, second = (torch.from_numpy(_samples({**RULES, SUICIDE: value}).globals) for value in (0.0, 1.0))
    ranges, resumed, old = InputRanges(spec), InputRanges(spec), InputRanges(spec)
    ranges.note(first)
    resumed.restore(ranges.tensors(), "inputs.safetensors")
    resumed.note(second)
    assert inputs_without_effect(resumed.without_constant(spec)) == [SUPERKO, POSITIONAL, TERRITORY]
    old.restore(None, "inputs.safetensors")
    old.note(second)
    assert old.without_constant(spec) is spec, "of an older run it is not known what its batches had"


def test_an_input_that_varied_between_processes_stays() -> None:
    spec = default_spec(2, 8, encoder=ENCODER)
    parts = [InputRanges(spec), InputRanges(spec)]
    for ranges, suicide in zip(parts, (0.0, 1.0), strict=True):
        ranges.note(torch.from_numpy(_samples({**RULES, SUICIDE: suicide}).globals))
    gathered = [{name: each.clone() for name, each in ranges.tensors().items()} for ranges in parts]
    for ranges in parts:
        ranges.join(gathered)
        assert inputs_without_effect(ranges.without_constant(spec)) == [SUPERKO, POSITIONAL, TERRITORY]


def test_a_frozen_trunk_is_written_as_it_is(tmp_path: Path) -> None:
    start = default_spec(2, 8, encoder=ENCODER)
    frozen = replace(CONFIG, freeze="trunk")
    result = train(frozen, MadeUpSource(samples=_samples(RULES)), tmp_path, start=start)
    assert inputs_without_effect(result.net) == []


def test_a_network_that_is_told_nothing_but_the_board_is_written_as_it_is() -> None:
    spec = default_spec(2, 8, encoder="oneplane")
    ranges = InputRanges(spec)
    ranges.note(torch.zeros(8, 0))
    assert ranges.without_constant(spec) is spec
