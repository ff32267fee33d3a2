"""The kernels that copy numbers: between boards with borders and without, from inputs, and to outputs."""

from engine.native.jit import kernel
from engine.nets.kernels.plan import TO_ROWS, Layout, Step
from engine.nets.kernels.vectors import CopiedFloats, copy_floats
from engine.nets.spec import Array


@kernel
def copy_points(layout: Layout, step: Step, memory: Array, count: int) -> None:
    """Copy points with borders to points without, or back."""
    source, post = step.source, step.post
    floats = layout.width * step.channels
    for position in range(count):
        for y in range(layout.height):
            row, place = (position * layout.rows + y) * layout.columns, (position * layout.height + y) * layout.width
            if step.kind == TO_ROWS:
                begin, out = source.first + row * source.stride, post.first + place * post.stride
            else:
                begin, out = source.first + place * source.stride, post.first + row * post.stride
            copy_floats(layout.lanes, memory, memory, CopiedFloats(begin, floats, out))


@kernel
def read_globals(step: Step, memory: Array, globals_: Array) -> None:
    """Copy globals [positions, globals] to vectors."""
    for position in range(len(globals_)):
        for number in range(step.inner):
            memory[step.post.first + position * step.post.stride + number] = globals_[position, number]


@kernel
def flatten(layout: Layout, step: Step, memory: Array, count: int) -> None:
    """Write points as vectors, channel by channel."""
    area, stride = layout.width * layout.height, step.source.stride
    for position in range(count):
        for y in range(layout.height):
            row = step.source.first + (position * layout.rows + y) * layout.columns * stride
            out = step.post.first + position * step.post.stride + y * layout.width
            for x in range(layout.width):
                for channel in range(step.inner):
                    memory[out + channel * area + x] = memory[row + x * stride + channel]


@kernel
def write_points(layout: Layout, step: Step, memory: Array, output: Array) -> None:
    """Copy points to an output [positions, numbers], channel by channel."""
    stride = step.source.stride
    for position in range(len(output)):
        for y in range(layout.height):
            row = step.source.first + (position * layout.rows + y) * layout.columns * stride
            for channel in range(step.inner):
                place = step.output_place.first + channel * step.output_place.stride + y * layout.width
                for x in range(layout.width):
                    output[position, place + x] = memory[row + x * stride + channel]


@kernel
def write_vector(step: Step, memory: Array, output: Array) -> None:
    """Copy vectors to an output [positions, numbers]."""
    for position in range(len(output)):
        for number in range(step.inner):
            place = step.output_place.first + number * step.output_place.stride
            output[position, place] = memory[step.source.first + position * step.source.stride + number]
