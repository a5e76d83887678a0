"""CUDA C++ with one access in inline PTX a kernel: what the recorded fetches and surface accesses are repeated with."""

from collections.abc import Iterable

from tests.execute.recorded_images import COORDINATES

HOLDS = {
    "b8": ("h", "unsigned short"), "b16": ("h", "unsigned short"), "b32": ("r", "unsigned"), "b64": ("l", "unsigned long long"),
}  # fmt: skip


def joined(*parts: str) -> str:
    return "_".join(parts).replace(".", "_")


def operand(letter: str, value: str) -> str:
    """An operand of inline assembly."""
    return f'"{letter}"({value})'


def numbers(first: int, count: int) -> list[str]:
    """The names that so many operands have in the text of inline assembly."""
    return [f"%{first + k}" for k in range(count)]


def fetch_kernels(forms: Iterable[tuple[str, str, str]]) -> str:
    return "\n".join(fetch_kernel(*form) for form in forms)


def fetch_kernel(geometry: str, type: str, coordinates: str) -> str:
    """Thread i fetches at in[i] and stores the four results at out[i]."""
    names, given = numbers(5, COORDINATES[geometry]), []
    for k, axis in enumerate("xyz"[: len(names)]):
        whole = coordinates == "s32" or (geometry in ("a1d", "a2d") and k == 0)
        given.append(operand("r", f"at.{axis}") if whole else operand("f", f"__uint_as_float(at.{axis})"))
    letter, variable, bits = ("f", "float", "__float_as_uint") if type == "f32" else ("r", "unsigned", "")
    results = ", ".join(operand(f"={letter}", name) for name in "abcd")
    return f"""
extern "C" __global__ void {joined("fetch", geometry, type, coordinates)}(
        unsigned long long texture, const uint4 *in, uint4 *out, unsigned n) {{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 at = in[i];
    {variable} a, b, c, d;
    asm volatile("tex.{geometry}.v4.{type}.{coordinates} {{%0, %1, %2, %3}}, [%4, {{{", ".join(names + names[2:])}}}];"
        : {results} : "l"(texture), {", ".join(given)});
    out[i] = make_uint4({bits}(a), {bits}(b), {bits}(c), {bits}(d));
}}"""


def surface_kernels(forms: Iterable[tuple[str, str, str, int]]) -> str:
    return "\n".join(surface_kernel(*form) for form in forms)


def surface_kernel(geometry: str, form: str, mode: str, store: int) -> str:
    """One thread carries out the accesses at in[0], in[1], … one after another; values are 32 bytes apart."""
    vector, _, type = form.rpartition(".")
    count, axes = int(vector[1:]) if vector else 1, COORDINATES[geometry]
    letter, variable = HOLDS[type]
    names = numbers(1 if store else count + 1, axes)
    place = f"[%{0 if store else count}, {{{', '.join(names + names[2:])}}}]"
    data = ", ".join(numbers(1 + axes if store else 0, count))
    at = [operand("l", "surface"), *(operand("r", f"at.{axis}") for axis in "xyz"[:axes])]
    held = [operand(letter if store else f"={letter}", f"v[{k}]") for k in range(count)]
    memory = [f"*({variable} *)&values[4 * i + {k}]" for k in range(count)]
    if store:
        moves = " ".join(f"v[{k}] = {value};" for k, value in enumerate(memory))
        access = f'asm volatile("sust.b.{geometry}.{form}.{mode} {place}, {{{data}}};" :: {", ".join(at + held)} : "memory");'
        body = f"{moves} {access}"
    else:
        access = f'asm volatile("suld.b.{geometry}.{form}.{mode} {{{data}}}, {place};" : {", ".join(held)} : {", ".join(at)});'
        moves = " ".join(f"{value} = v[{k}];" for k, value in enumerate(memory))
        body = f"{access} {moves}"
    return f"""
extern "C" __global__ void {joined("store" if store else "load", geometry, form, mode)}(
        unsigned long long surface, const uint4 *in, unsigned long long *values, unsigned n) {{
    for (unsigned i = 0; i < n; i++) {{
        uint4 at = in[i];
        {variable} v[{count}];
        {body}
    }}
}}"""
