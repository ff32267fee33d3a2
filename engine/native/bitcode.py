"""Kernels as other kernels call them: LLVM code alone (bitcode), which becomes machine code as a part of its callers.

Numba links the code of every callee into its callers and compiles the whole again; it also makes machine code and an
entry for Python of each callee, which no caller uses. Without these a cold start takes 0.71 of the time
(docs/performance.md).
"""

from typing import Any

from llvmlite import binding

from engine.native.numba_internals import JITCodeLibrary, compile_result

_LARGE = 100_000
"""Bytes of bitcode above which a callee is optimized only as a part of its callers. Most of it is code of its own
callees, which is optimized already: the largest functions of a search have four callers, one inside another."""


class BitcodeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a callee, without machine code."""

    def _optimize_final_module(self) -> None:
        if len(self._final_module.as_bitcode()) < _LARGE:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """Do what numba does, but add nothing to the engine that makes machine code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return what a file of the cache holds of the library."""
        self._ensure_finalized()
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


def callee_of(result: Any) -> Any:
    """Return numba's result of a compilation without machine code in a form that kernels can call."""
    result.library.__class__ = BitcodeLibrary
    # Numba finds the code of a callee by its entry point, which must therefore differ for each.
    called = result._replace(entry_point=object())
    called.target_context.insert_user_function(called.entry_point, called.fndesc, [called.library])
    return called


def rebuilt(target_context: Any, payload: tuple[Any, ...]) -> Any:
    """Return the result of a compilation from the parts of it that numba wrote to a file."""
    (name, _, code), descriptor, environment, signature, _, lifted, annotation, reload_init, _ = payload
    for each in reload_init:
        each()
    library = BitcodeLibrary(target_context.codegen(), name)
    library._final_module = binding.parse_bitcode(code)
    library._finalize_final_module()
    return compile_result(
        typing_context=target_context.typing_context,
        target_context=target_context,
        signature=signature,
        objectmode=False,
        lifted=lifted,
        fndesc=descriptor,
        library=library,
        environment=environment,
        type_annotation=annotation,
        reload_init=reload_init,
    )


def with_python_entry(callee: Any) -> Any:
    """Return the machine code of a callee behind an entry for Python, as numba's result of a compilation."""
    context, descriptor, environment = callee.target_context, callee.fndesc, callee.environment
    context.refresh()  # with numba's conversions; nothing has needed them yet where the callee was loaded
    library = context.codegen().create_library(callee.library.name)
    library.enable_object_caching()
    library.add_linking_library(callee.library)
    context.create_cpython_wrapper(library, descriptor, environment, callee.call_helper, release_gil=True)
    entry = context.get_executable(library, descriptor, environment)
    return callee._replace(library=library, entry_point=entry, metadata={})
