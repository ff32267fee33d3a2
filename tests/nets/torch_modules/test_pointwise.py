"""Without a C compiler Triton compiles nothing: then PyTorch's own operations compute, and a warning says why."""

from types import ModuleType
from typing import NoReturn

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from engine.nets.torch_modules import pointwise  # noqa: E402


def _without_compiler(*_: object) -> NoReturn:
    raise RuntimeError("Failed to find C compiler. Please specify via CC environment variable.\nmore")


def test_kernels_that_cannot_be_compiled_are_left_out_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    functions = ModuleType("functions")
    functions.scaled = _without_compiler  # type: ignore[attr-defined]
    assert not pointwise.compiles(functions, torch.device("cpu"))
    assert (
        "Triton cannot compile (Failed to find C compiler. Please specify via CC environment variable.)" in caplog.text
    )


def test_functions_that_compute_are_taken() -> None:
    assert pointwise.compiles(pointwise, torch.device("cpu"))


def test_a_cpu_has_no_kernels() -> None:
    assert pointwise.kernels(torch.device("cpu")) is None
