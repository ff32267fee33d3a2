"""OpenVINO's model of a network against the naive network and torch's."""

import subprocess
import sys

import numpy as np
import pytest

from engine.nets.spec import NetSpec
from tests.nets.examples import EXAMPLES, random_inputs
from tests.oracle import naive_net

pytest.importorskip("openvino", reason="openvino is not installed")

from engine.nets.openvino_graph.model import OUTPUTS, build_model
from engine.nets.openvino_graph.runtime import openvino

SIZES = [(1, 1), (3, 5), (9, 9)]
FP32 = {"INFERENCE_PRECISION_HINT": "f32"}


def boards(spec: NetSpec) -> list[tuple[int, int]]:
    """Return the (height, width) to test a network on."""
    smallest, largest = spec.board_sizes
    fitting = [size for size in SIZES if smallest <= min(size) and max(size) <= largest]
    return fitting or [(largest, largest)]


CASES = [(name, *size) for name, spec in EXAMPLES.items() for size in boards(spec)]


def infer(spec: NetSpec, planes: np.ndarray, globals_: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs that the model has, by name."""
    count, _, height, width = planes.shape
    compiled = openvino.Core().compile_model(build_model(spec, count, width, height), "CPU", FP32)
    given = {"planes": planes, "globals": globals_} if globals_.shape[1] else {"planes": planes}
    return {port.get_any_name(): values for port, values in compiled(given).items()}


@pytest.mark.parametrize(("name", "height", "width"), CASES)
def test_the_model_equals_the_naive_network(name: str, height: int, width: int) -> None:
    spec = EXAMPLES[name]
    planes, globals_ = random_inputs(spec, height, width, 2)
    outputs = infer(spec, planes, globals_)
    for row in range(2):
        expected = naive_net.forward(spec, planes[row], globals_[row])
        for field, values in expected.items():
            if values.size == 0:
                assert field not in outputs
                continue
            assert outputs[field].dtype == np.float32
            assert outputs[field][row].shape == values.shape, field
            np.testing.assert_allclose(outputs[field][row], values, atol=1e-5, rtol=1e-5, err_msg=field)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_model_equals_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from engine.nets.torch_modules.model import TorchModel

    spec = EXAMPLES[name]
    planes, globals_ = random_inputs(spec, *boards(spec)[-1], 8)
    with torch.inference_mode():
        expected = TorchModel(spec).fused(torch.float32)(torch.from_numpy(planes), torch.from_numpy(globals_))
    for field, values in infer(spec, planes, globals_).items():
        np.testing.assert_allclose(values, getattr(expected, field).numpy(), atol=1e-5, rtol=1e-5, err_msg=field)


def test_outputs_come_in_the_order_of_the_evaluator() -> None:
    model = build_model(EXAMPLES["pooling mish"], 1, 5, 5)
    assert tuple(port.get_any_name() for port in model.outputs) == OUTPUTS


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_model_can_be_reshaped_to_another_batch(name: str) -> None:
    spec = EXAMPLES[name]
    height, width = boards(spec)[-1]
    model, wanted = build_model(spec, 1, width, height), build_model(spec, 3, width, height)
    model.reshape({port.get_any_name(): [3, *list(port.shape)[1:]] for port in model.inputs})
    assert [port.partial_shape for port in model.outputs] == [port.partial_shape for port in wanted.outputs]


def test_importing_openvino_through_its_one_importer_loads_no_telemetry() -> None:
    code = (
        "import sys, engine.nets.openvino_graph.runtime; print([name for name in sys.modules if 'telemetry' in name])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_model_needs_no_torch() -> None:
    code = "import sys, engine.nets.openvino_graph.model; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
