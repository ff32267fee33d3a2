"""Triton's kernels against PyTorch's operations: on a GPU, or anywhere with Triton and TRITON_INTERPRET=1."""

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="Triton is not installed")
_IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
if not (_IS_INTERPRETED or torch.cuda.is_available()):
    pytest.skip("there is no GPU", allow_module_level=True)

from engine.nets.spec import Activation  # noqa: E402
from engine.nets.torch_modules import pointwise, triton_kernels  # noqa: E402

_DEVICE = "cpu" if _IS_INTERPRETED else "cuda"
_SIZES = [(1, 1, 1, 1), (2, 5, 7, 12), (3, 19, 19, 192)]
CASES = pytest.mark.parametrize("size", _SIZES if not _IS_INTERPRETED else _SIZES[:2])
KINDS = pytest.mark.parametrize("kind", list(Activation))
TYPES = pytest.mark.parametrize("number", [torch.float32, torch.float16, torch.bfloat16])


def _random(*shape: int, scale: float = 8.0) -> "torch.Tensor":
    return (scale * torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))).to(_DEVICE)


def _assert_close(got: "torch.Tensor", expected: "torch.Tensor") -> None:
    torch.testing.assert_close(got, expected, rtol=2e-5 if got.dtype is torch.float32 else 1e-2, atol=1e-4)


@CASES
@KINDS
@TYPES
def test_scaled_points_are_those_of_pytorch(size: tuple[int, ...], kind: Activation, number: "torch.dtype") -> None:
    points, norm = _random(*size).to(number), _random(2, size[-1], scale=1.0)
    expected = pointwise.scaled(points, norm, kind)
    _assert_close(triton_kernels.scaled(points, norm, kind), expected)


@CASES
@KINDS
@TYPES
@pytest.mark.parametrize("spatial", [False, True])
def test_normalized_points_are_those_of_pytorch(
    size: tuple[int, ...], kind: Activation, number: "torch.dtype", spatial: bool
) -> None:
    points, norm = _random(*size).to(number), _random(2, size[-1], scale=1.0)
    expected = pointwise.normalized(points, norm, 1e-5, kind, spatial=spatial)
    _assert_close(triton_kernels.normalized(points, norm, 1e-5, kind, spatial=spatial), expected)


@TYPES
def test_only_the_first_pairs_of_rows_are_turned_and_as_by_pytorch(number: "torch.dtype") -> None:
    rows, angles = _random(4 * 35, 20).to(number), _random(35, 6)
    got, expected = rows.clone(), rows.clone()
    pointwise.turn(expected, angles.cos(), angles.sin())
    triton_kernels.turn(got, angles.cos(), angles.sin())
    _assert_close(got, expected)
    assert torch.equal(got[:, 12:], rows[:, 12:])
    assert not torch.equal(got[:, :12], rows[:, :12])


@KINDS
@TYPES
def test_gated_rows_are_those_of_pytorch(kind: Activation, number: "torch.dtype") -> None:
    rows = _random(4 * 35, 2 * 24).to(number)
    _assert_close(triton_kernels.gated(rows, kind), pointwise.gated(rows, kind))
