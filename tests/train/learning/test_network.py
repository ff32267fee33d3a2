"""Networks in training: the way to a module and back is exact, and only what shall learn does."""

from dataclasses import replace

import numpy as np
import pytest

from engine.nets.spec import AttentionBlock, NetSpec, Score, ValueHead, ValueKind, WeightsError, tensors
from tests.nets.examples import EXAMPLES, stirred
from tests.train.random_data import differing

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.nets.torch_modules.model import TorchModel  # noqa: E402
from engine.train.learning.network import TrainableNet, agz_spec, default_spec  # noqa: E402
from weights import katago_writer  # noqa: E402

TRAINABLE = sorted(name for name, spec in EXAMPLES.items() if not getattr(spec.value, "black_view", False))


def answers(spec: NetSpec) -> list[np.ndarray]:
    generator = torch.Generator().manual_seed(1)
    side = spec.board_sizes[0] if spec.board_sizes[0] == spec.board_sizes[1] else 5
    planes = torch.rand((2, spec.planes, side, side), generator=generator).round()
    with torch.inference_mode():
        outputs = TorchModel(spec).eval()(planes, torch.rand((2, spec.globals + spec.metadata), generator=generator))
    return [each.numpy() for each in outputs]


@pytest.mark.parametrize("name", TRAINABLE)
def test_a_network_comes_back_from_training_as_it_went_in(name: str) -> None:
    spec = EXAMPLES[name]
    back = TrainableNet(spec).to_spec()
    assert differing(spec, back) == set()
    assert (back.name, back.encoder, back.format, back.version) == (spec.name, spec.encoder, spec.format, spec.version)
    for before, after in zip(answers(spec), answers(back), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("name", TRAINABLE)
def test_what_training_computes_is_what_the_written_network_computes(name: str) -> None:
    net = TrainableNet(EXAMPLES[name])
    with torch.no_grad():
        for parameter in net.parameters():
            if parameter.requires_grad:
                parameter.add_(0.01)
    net.eval()
    spec = net.to_spec()
    assert differing(spec, EXAMPLES[name])
    side = spec.board_sizes[0] if spec.board_sizes[0] == spec.board_sizes[1] else 5
    planes, globals_ = torch.ones((1, spec.planes, side, side)), torch.ones((1, spec.globals + spec.metadata))
    with torch.inference_mode():
        for learned, written in zip(
            net(planes, globals_).outputs, TorchModel(spec).eval()(planes, globals_), strict=True
        ):
            torch.testing.assert_close(written, learned, atol=1e-6, rtol=1e-6)


def test_the_default_network_is_one_that_katago_can_read() -> None:
    spec = stirred(default_spec(2, 16), np.random.default_rng(1))
    assert len(katago_writer.to_bytes(spec)) > 10_000
    assert isinstance(spec.value, ValueHead)
    assert spec.value.meaning is ValueKind.SOFTMAX
    assert spec.value.scores == (Score.MEAN, Score.STDEV, Score.LEAD)
    assert spec.has_ownership


def test_the_default_network_has_a_million_parameters() -> None:
    assert sum(array.size for _, array in tensors(default_spec())) == pytest.approx(1e6, rel=0.02)


def test_a_new_transformer_is_one_that_katago_can_read() -> None:
    spec = stirred(default_spec(2, 64, 1, "katago-v7", transformer=True), np.random.default_rng(1))
    assert len(katago_writer.to_bytes(spec)) > 100_000
    assert [block.heads for block in spec.blocks if isinstance(block, AttentionBlock)] == [2, 2]


def test_the_points_of_a_new_transformer_are_told_apart_by_row_and_column() -> None:
    (attention, _) = default_spec(1, 32, 1, "liberties", transformer=True).blocks
    assert isinstance(attention, AttentionBlock)
    assert attention.rope is not None
    by_column, by_row = attention.rope[0, :, 0], attention.rope[0, :, 1]
    np.testing.assert_array_equal((by_column != 0), (by_row == 0))
    np.testing.assert_allclose(by_row[:8], 100.0 ** (-np.arange(8) / 8), rtol=1e-6)
    np.testing.assert_array_equal(by_column[8:], by_row[:8])


def test_a_transformer_of_an_odd_number_of_channels_is_refused() -> None:
    with pytest.raises(WeightsError, match="odd query width"):
        default_spec(1, 9, 1, "liberties", transformer=True)


def test_alphago_zeros_architecture_has_dense_heads() -> None:
    spec = agz_spec(2, 8, 1, "agz", 9)
    assert [array.shape for path, array in tensors(spec) if path == "policy.linear.weight"] == [(2 * 81, 82)]
    assert differing(spec, TrainableNet(spec).to_spec()) == set()


def test_an_unknown_encoder_is_refused() -> None:
    with pytest.raises(WeightsError, match="unknown encoder"):
        default_spec(encoder="katago-v99")


def test_a_value_of_black_is_refused() -> None:
    spec = agz_spec(1, 4, 1, "agz", 5)
    with pytest.raises(WeightsError, match="Black's"):
        TrainableNet(replace(spec, value=replace(spec.value, black_view=True)))  # type: ignore[type-var]


def test_what_the_file_lacks_does_not_learn() -> None:
    spec = default_spec(1, 4, encoder="liberties")
    bare = replace(spec.blocks[0].norm1, scale=None)  # type: ignore[union-attr]
    spec = replace(spec, blocks=(replace(spec.blocks[0], norm1=bare),))  # type: ignore[type-var]
    learns = {name: each.requires_grad for name, each in TrainableNet(spec).model.named_parameters()}
    assert not learns.pop("blocks.0.norm1.weight")
    assert all(learns.values())


def test_the_turns_of_a_transformer_learn_and_do_not_decay() -> None:
    net = TrainableNet(default_spec(1, 8, 1, "liberties", transformer=True))
    decaying, staying = net.parameter_groups(0.1)
    rope = net.model.get_parameter("blocks.0.rope")
    assert rope.requires_grad
    assert any(each is rope for each in staying["params"])
    assert not any(each is rope for each in decaying["params"])


def test_norms_and_biases_do_not_decay() -> None:
    net = TrainableNet(default_spec(1, 4, encoder="liberties"))
    decaying, staying = net.parameter_groups(0.1)
    assert {each.ndim for each in decaying["params"]} == {2, 4}
    assert {each.ndim for each in staying["params"]} == {1}
    assert (decaying["weight_decay"], staying["weight_decay"]) == (0.1, 0.0)
    assert len(decaying["params"]) + len(staying["params"]) == len(list(net.parameters()))


@pytest.mark.parametrize(
    ("format_", "norms", "moves"),
    [("katago", "auto", False), ("keima", "auto", True), ("keima", "fixed", False), ("katago", "batch", True)],
)
def test_norms_without_statistics_of_another_program_stay_fixed(format_: str, norms: str, moves: bool) -> None:
    spec = replace(default_spec(1, 4, encoder="liberties"), format=format_)
    net = TrainableNet(spec, norms=norms).train()  # type: ignore[arg-type]
    net(torch.ones((2, spec.planes, 5, 5)), torch.ones((2, spec.globals)))
    changed = {path for path in differing(spec, net.to_spec()) if path.endswith(".mean")}
    assert bool(changed) is moves
