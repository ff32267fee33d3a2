"""The arithmetic peak of this machine: products in registers alone, without memory."""

import threading
import time
from typing import NamedTuple

import numpy as np

from engine.native.jit import kernel
from engine.native.processor import IS_X86
from engine.nets.kernels.code import INTEGER, Code, InMemory, vector_intrinsic
from engine.nets.kernels.memory import aligned
from engine.nets.kernels.operands import FEATURES_OF_PRODUCTS, ROUNDED, TILED
from engine.nets.kernels.tiles import DEPTH, FEATURES_OF_TILES, TILE_FLOATS, TILE_ROWS, TOGETHER, Tiles
from engine.nets.spec import Array

CHAINS = 12
"""Sums that do not wait for each other: with two operands they fill 14 of AVX2's 16 registers, and two units with a
latency of 4 cycles need 8."""
_TIMES = 100_000
"""Rounds between two reads of the clock."""


class Registers(NamedTuple):
    """sums[s] = s + times * operands[0] * operands[1], for `CHAINS` vectors of sums, number by number.

    By tiles: sums[i, j] = times * operands[i] . operands[2 + j], for i and j 0 and 1; each operand and sum is a tile.
    """

    times: int
    operands: InMemory
    sums: InMemory


def _multiply_registers(code: Code, registers: Registers) -> None:
    """Write the instructions of `Registers`."""
    left, right = (code.load(code.at(registers.operands, INTEGER(place * code.lanes))) for place in range(2))
    # They start at different numbers, so that LLVM cannot find that all are one.
    sums = [code.variable(code.number(index)) for index in range(CHAINS)]
    with code.loop(registers.times):
        for each in sums:
            code.builder.store(code.multiply(left, right, code.builder.load(each)), each)
    for index, each in enumerate(sums):
        code.store(code.builder.load(each), code.at(registers.sums, INTEGER(index * code.lanes)))


def _multiply_held_tiles(code: Code, registers: Registers) -> None:
    """Write the instructions of `Registers` by tiles."""
    tiles, stride = Tiles(code), INTEGER(TILE_ROWS)
    sums, operands = TOGETHER * TOGETHER, 2 * TOGETHER
    tiles.configure()
    for tile in range(sums):
        tiles.zero(tile)
    for place in range(operands):
        tiles.load(sums + place, code.at(registers.operands, INTEGER(place * TILE_FLOATS)), stride)
    with code.loop(registers.times):
        for tile in range(sums):
            tiles.multiply(tile, sums + tile // TOGETHER, sums + TOGETHER + tile % TOGETHER)
    for tile in range(sums):
        tiles.store(tile, code.at(registers.sums, INTEGER(tile * TILE_FLOATS)), stride)
    tiles.release()


multiply_registers = vector_intrinsic(_multiply_registers, FEATURES_OF_PRODUCTS)
multiply_held_tiles = vector_intrinsic(_multiply_held_tiles, {TILED: FEATURES_OF_TILES} if IS_X86 else {})


@kernel
def multiply_in_registers(numbers: int, memory: Array, registers: Registers) -> None:
    """Compute `Registers`."""
    if numbers == TILED:
        multiply_held_tiles(TILED, memory, memory, registers)
    else:
        multiply_registers(numbers, memory, memory, registers)


def peak_gflops(numbers: int, threads: int, seconds: float) -> float:
    """Return the GFLOP/s of all threads together, multiplying in registers for `seconds` seconds.

    numbers: operands in a vector, see `engine.nets.kernels.code.Code`: ROUNDED for pairs of bf16, TILED for
    tiles of them, where `tiles_here`.
    """
    lanes = ROUNDED // 2 if numbers == ROUNDED else numbers
    operands, sums, products = 2 * lanes, CHAINS * lanes, numbers * CHAINS
    if numbers == TILED:
        operands, sums = 2 * TOGETHER * TILE_FLOATS, TOGETHER * TOGETHER * TILE_FLOATS
        products = sums * DEPTH
    registers = Registers(_TIMES, 0, operands)
    memories = [aligned(operands + sums) for _ in range(threads)]
    rounds = np.zeros(threads, dtype=np.int64)
    multiply_in_registers(numbers, memories[0], registers._replace(times=1))  # compiles
    end = time.perf_counter() + seconds

    def work(place: int) -> None:
        while rounds[place] == 0 or time.perf_counter() < end:
            multiply_in_registers(numbers, memories[place], registers)
            rounds[place] += _TIMES

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    # With each product goes a sum.
    return float(2 * products * rounds.sum()) / (time.perf_counter() - start) / 1e9
