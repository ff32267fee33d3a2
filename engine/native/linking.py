"""The kernels of the frozen program: linked into shared libraries, where it then needs no numba and no LLVM.

Run at build time. Kernels are linked on Linux with x86-64. A file of machine code in the cache also holds the LLVM code
of its kernel and of all kernels that it calls. The LLVM code is compiled again as position-independent code for each of
`LEVELS` (numba's own machine code has absolute addresses), and the system's C compiler links all kernels of a level.
`engine.native.linked` loads them.
"""

import pickle
import shutil
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from llvmlite import binding

from engine.native.cache_directory import KEY, cache_directory
from engine.native.closures import CLOSURE
from engine.native.frozen import FOLDER, KEY_FILE, LEVELS, LINKS_KERNELS, library_name
from engine.native.instructions import types
from engine.native.kernel_cache import CHECKSUM_BYTES
from engine.native.kinds import array_name, dtype_name, symbol, tuple_name
from engine.native.linked import ENVIRONMENT, HELPER_MODULE, HELPERS, POINTER, UNPICKLE
from engine.native.numba_internals import CPUDispatcher, as_dtype, helper_library


def name_of_type(kind: Any) -> str:
    """Return the name of a type of numba, as `engine.native.kinds.type_name` returns it for a value of this type."""
    if isinstance(kind, types.Array):
        return array_name(as_dtype(kind.dtype), kind.ndim, kind.layout, is_writable=kind.mutable)
    if isinstance(kind, types.BaseTuple):
        return tuple_name(getattr(kind, "instance_class", tuple), map(name_of_type, kind.types))
    return "none" if isinstance(kind, types.NoneType) else dtype_name(as_dtype(kind))


def frozen_files(build: Path) -> list[tuple[str, str]]:
    """Write the key into `build`; return compiled kernels and key as (file, folder) pairs for PyInstaller.

    The kernels are linked there where the program shall have no numba. Raises FileNotFoundError if the kernels of these
    sources were not compiled.
    """
    directory = cache_directory()
    if directory is None or not directory.is_dir():
        raise FileNotFoundError(f"there are no compiled kernels of these sources in {directory}")
    _compile_entries(directory)
    key_file = build / KEY_FILE
    key_file.write_text(KEY)
    kernels = link(directory, build / "linked") if LINKS_KERNELS else [directory]
    return [(str(path), FOLDER) for path in (*kernels, key_file)]


def _compile_entries(cache: Path) -> None:
    """Compile an entry for Python of each kernel that only kernels have called yet: the program may call it."""
    for file in sorted(cache.glob("*.bc")):
        _, descriptor, _, signature, *_ = pickle.loads(file.read_bytes()[CHECKSUM_BYTES:])
        if not descriptor.qualname.startswith("_") and not file.with_suffix(".nbc").exists():
            found = getattr(import_module(descriptor.modname), descriptor.qualname, None)
            # Otherwise the name stands for the Python function of a kernel, and Python calls that.
            if isinstance(found, CPUDispatcher):
                found.compile(signature.args)


def link(cache: Path, folder: Path) -> list[Path]:
    """Link the kernels in a directory of the cache for each of `LEVELS`; return the files that the program needs.

    folder: is created, with the libraries and numba's helpers. Raises subprocess.CalledProcessError if linking fails.
    """
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    binding.initialize_native_asmparser()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    modules = [_trampolines(), *filter(None, map(_module, sorted(cache.glob("*.nbc"))))]
    for level in LEVELS:
        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=level, opt=3, reloc="pic", codemodel="small"
        )
        objects = []
        for number, module in enumerate(modules):
            objects.append(folder / f"{number}.o")
            objects[-1].write_bytes(machine.emit_object(module))
        # No symbol but our own is visible, so that nothing of the library is bound to a function of the same name
        # elsewhere; sections without a use are dropped.
        exported = folder / "exported"
        exported.write_text(f"{{ global: keima_*; {POINTER}*; {ENVIRONMENT}*; local: *; }};\n")
        options = [f"-Wl,--version-script={exported}", "-Wl,-Bsymbolic,--gc-sections,--strip-all,-z,noexecstack"]
        output = folder / library_name(level)
        listed = folder / "objects"
        listed.write_text("\n".join(map(str, objects)))
        subprocess.run(["cc", "-shared", *options, "-o", output, f"@{listed}", "-lm"], check=True)
        for path in (*objects, exported, listed):
            path.unlink()
    shutil.copy(helper_library(), folder / f"{HELPER_MODULE}.so")
    return sorted(folder.iterdir())


def _module(file: Path) -> Any:
    """Return the LLVM module of a cached kernel, with one visible function and the environment that this one tests.

    None for an entry that the self-check calls by its address.
    """
    library, descriptor, _, signature, *_ = pickle.loads(file.read_bytes()[CHECKSUM_BYTES:])
    is_closure = CLOSURE in descriptor.qualname
    if not is_closure and descriptor.qualname.startswith("_"):
        return None
    module = binding.parse_bitcode(library[2][1])
    defined = {each.name: each for each in (*module.functions, *module.global_variables) if not each.is_declaration}
    entry = defined[descriptor.llvm_func_name if is_closure else descriptor.llvm_cpython_wrapper_name]
    name = symbol(descriptor.modname, descriptor.qualname, map(name_of_type, signature.args))
    # Numba's names have a number that differs from process to process, so two kernels can have different functions of
    # the same name: only what is renamed here may be visible.
    for each in defined.values():
        each.linkage = "internal"
    for each, visible in ((entry, name), (defined.get(descriptor.env_name), f"{ENVIRONMENT}{name}")):
        if each is not None:
            each.linkage, each.name = "external", visible
    return module


def _trampolines() -> Any:
    """Return a module with numba's helpers, each a jump to the address in a variable."""
    return binding.parse_assembly("\n".join(_lines_of_trampolines()))


def _lines_of_trampolines() -> Iterator[str]:
    for name in (*HELPERS, UNPICKLE):
        yield f"@{POINTER}{name} = global ptr null"
        for line in (f".globl numba_{name}", f"numba_{name}: jmp *{POINTER}{name}(%rip)"):
            yield f'module asm "{line}"'
