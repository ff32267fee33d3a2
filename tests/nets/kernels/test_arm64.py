"""The kernels' vector functions for ARM64: compiled here by LLVM for that machine, with NEON and nothing of x86."""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from engine.native import atomics
from engine.native.instructions import compile_for, ir
from engine.nets.kernels import code, peak, rows, vectors
from engine.nets.kernels.code import FLOAT, INTEGER, Code

binding = pytest.importorskip("llvmlite.binding")

TRIPLE = "aarch64-unknown-linux-gnu"
PROCESSORS = ["generic", "neoverse-n1", "apple-m1"]
assert all((peak, rows, vectors))  # their functions are listed when they are imported
FUNCTIONS = {write.__name__.lstrip("_"): write for write, features in code.WRITERS if 8 in features}
BY_PRODUCTS = ("multiply_rows", "multiply_registers", "transform_tile", "outputs_of_tile", "soften_rows", "gate_rows")
"""Functions that multiply and add: they must do so by whole vectors."""

MAIN = """
#include <stdio.h>
void %(name)s(%(kinds)s);
static float memory[%(size)d];
int main(void) {
    fread(memory, sizeof(float), %(size)d, stdin);
    %(name)s(%(words)s);
    fwrite(memory, sizeof(float), %(size)d, stdout);
    return 0;
}
"""

# What the compiler of another machine sees: its name is all that the choice depends on.
ON_ARM = """
import os, platform, sys
platform.machine = lambda: sys.argv[1]
import engine.native.instructions
from llvmlite import binding
binding.get_host_cpu_features = lambda: dict.fromkeys(sys.argv[2].split(), True)
print(os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"])
from engine.nets.kernels import code, operands, tiled_rows, tiles, vectors, rows
print(operands.lanes_here(), operands.rounds_here(), tiles.tiles_here())
print(sorted({number for _, features in code.WRITERS for number in features}))
print(sorted({each for _, features in code.WRITERS for each in features.values()}))
"""


def module_of(write: Callable[[Code, Any], None], numbers: int = 8, features: str = "") -> str:
    """Return LLVM code of one function alone, which takes pointers and integers.

    numbers: operands in a vector, see `code.Code`. features: instruction sets.
    """
    arguments: Any = list(get_type_hints(write).values())[1]
    is_array = ["__metadata__" in dir(hint) for hint in get_type_hints(arguments, include_extras=True).values()]
    module = ir.Module(write.__name__)
    kinds = [FLOAT.as_pointer() if each else INTEGER for each in is_array]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), write.__name__)
    if features:
        compile_for(function, features)
    builder = ir.IRBuilder(function.append_basic_block())
    write(Code(builder, numbers), arguments(*function.args))
    builder.ret_void()
    return str(module)


def for_machine(text: str, triple: str, processor: str) -> tuple[Any, Any]:
    """Return the module of LLVM code, and the machine that it is for."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=processor, opt=3)
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    return module, machine


def compiled(name: str, processor: str) -> tuple[str, Any, Any]:
    """Return the LLVM code of a function, the optimized module, and the machine that it is for."""
    text = module_of(FUNCTIONS[name])
    return text, *optimized(text, TRIPLE, processor)


def optimized(text: str, triple: str, processor: str) -> tuple[Any, Any]:
    """Return the optimized module of LLVM code, and the machine that it is for."""
    module, machine = for_machine(text, triple, processor)
    options = binding.create_pipeline_tuning_options(speed_level=3)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module, machine


def assembly(name: str, processor: str) -> tuple[str, str]:
    """Return the LLVM code of a function, and its machine code for ARM64."""
    text, module, machine = compiled(name, processor)
    return text, machine.emit_assembly(module)


def linker() -> list[str]:
    """Return the command of a C compiler for ARM64, or skip the running test."""
    if shutil.which("qemu-aarch64") is None:
        pytest.skip("qemu-aarch64 is not here")
    if shutil.which("aarch64-linux-gnu-gcc"):
        return ["aarch64-linux-gnu-gcc", "-static"]
    pytest.importorskip("ziglang", reason="neither aarch64-linux-gnu-gcc nor the package ziglang is here")
    return [sys.executable, "-m", "ziglang", "cc", "-target", "aarch64-linux-musl", "-static"]


def on_arm64(name: str, memory: np.ndarray, arguments: tuple[int, ...], folder: Path) -> np.ndarray:
    """Return the memory after a function has run under qemu-user. arguments: pointers as indices of the memory."""
    command = linker()
    hints = get_type_hints(list(get_type_hints(FUNCTIONS[name]).values())[1], include_extras=True).values()
    is_array = [hasattr(hint, "__metadata__") for hint in hints]
    _, module, machine = compiled(name, "neoverse-n1")
    (folder / "function.o").write_bytes(machine.emit_object(module))
    kinds = ", ".join("float *" if each else "long" for each in is_array)
    words = (f"memory + {value}" if each else str(value) for each, value in zip(is_array, arguments, strict=True))
    function = FUNCTIONS[name].__name__
    (folder / "main.c").write_text(
        MAIN % {"name": function, "kinds": kinds, "size": memory.size, "words": ", ".join(words)}
    )
    subprocess.run([*command, "main.c", "function.o", "-o", "main"], cwd=folder, check=True, capture_output=True)
    done = subprocess.run(
        ["qemu-aarch64", "./main"], cwd=folder, input=memory.tobytes(), check=True, capture_output=True
    )
    return np.frombuffer(done.stdout, dtype=np.float32)


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_compiled_to_vectors_of_neon_and_calls_nothing(name: str, processor: str) -> None:
    text, machine_code = assembly(name, processor)
    assert "llvm.x86" not in text
    assert re.findall(r"\b(?:bl|blr)\s", machine_code) == []
    assert re.search(r"\b(?:q|v)\d+", machine_code), "no register of NEON"
    if name in BY_PRODUCTS:
        assert re.search(r"\bfmla\s+(?:v\d+\.4s|\.4s)|\bfmla\.4s", machine_code)
        assert not re.search(r"\bfmadd\s+s", machine_code), "a product of single numbers"


@pytest.mark.parametrize("processor", PROCESSORS)
def test_sums_of_a_matrix_product_stay_in_registers(processor: str) -> None:
    for name in ("multiply_rows", "multiply_registers"):
        _, machine_code = assembly(name, processor)
        assert re.findall(r"\b(?:str|stp|stur)\s+q\d+[^\n]*\[sp", machine_code) == []


@pytest.mark.parametrize("triple", [TRIPLE, "arm64-apple-macosx"])
def test_a_waiting_thread_pauses_and_reads_a_timer_that_programs_may_read(
    triple: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomics, "IS_X86", False)
    monkeypatch.setattr(atomics, "IS_ARM64", True)
    written = ir.Module("waiting")
    function = ir.Function(written, ir.FunctionType(INTEGER, []), "wait")
    builder = ir.IRBuilder(function.append_basic_block())
    atomics.write_pause(builder)
    builder.ret(atomics.write_ticks(builder))
    module, machine = for_machine(str(written), triple, "generic")
    assert re.findall(r"\b(?:isb|mrs\s+\w+, \w+)", machine.emit_assembly(module)) == ["isb", "mrs\tx0, CNTVCT_EL0"]


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="pretends to be another machine")
@pytest.mark.parametrize(
    ("machine", "knows", "lines"),
    [
        ("aarch64", "neon", ["generic +neon", "8 False False", "[8]", "['']"]),
        ("arm64", "neon sve", ["generic +neon", "8 False False", "[8]", "['']"]),
        ("arm64", "", ["generic +neon", "8 False False", "[8]", "['']"]),  # LLVM names nothing under macOS
    ],
)
def test_on_arm64_no_function_of_x86_is_made(machine: str, knows: str, lines: list[str]) -> None:
    given = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CPU_")}
    command = [sys.executable, "-c", ON_ARM, machine, knows]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == lines, done.stderr


@pytest.mark.slow
def test_products_are_right_under_qemu(tmp_path: Path) -> None:
    generator, (count, k, panel) = np.random.default_rng(1), (7, 13, 3)
    left = generator.normal(size=(count, k)).astype(np.float32)
    right = generator.normal(size=(k, 8 * panel)).astype(np.float32)
    memory = np.concatenate([left.ravel(), right.ravel(), np.zeros(count * 8 * panel, np.float32)])
    product = vectors.Product(panel, 0, k, count, 1, 0, k, left.size, left.size + right.size, 8 * panel, 0)
    out = on_arm64("multiply_rows", memory, product, tmp_path)[left.size + right.size :]
    np.testing.assert_allclose(out.reshape(count, -1), left @ right, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_a_softmax_is_right_under_qemu(tmp_path: Path) -> None:
    count, keys, stride = 5, 21, 24
    scores = np.random.default_rng(2).normal(0, 5, (count, stride)).astype(np.float32)
    memory = np.concatenate([scores.ravel(), np.zeros(count * stride + 10 * count, np.float32)])
    factors, highest, totals = (2 * scores.size + each * count for each in range(3))
    softened = rows.SoftenedRows(0, stride, count, keys, scores.size, stride, highest, totals, factors, 1, 1)
    found = on_arm64("soften_rows", memory, softened, tmp_path)
    powers = found[scores.size : 2 * scores.size].reshape(count, stride)[:, :keys] * found[factors:highest][:, None]
    expected = np.exp2(scores[:, :keys].astype(np.float64))
    np.testing.assert_allclose(powers, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)
