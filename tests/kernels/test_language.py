"""Language features against Python."""

import math

import numpy as np
import pytest

from tests.kernels.library import source

POLYNOMIAL = np.dtype([("degree", "i1"), ("scale", "f8"), ("coefficient", "f4", 5), ("shift", "i2", 3)], align=True)
SMALL = np.dtype([("a", "u1"), ("b", "u2")], align=True)
TEMPLATES = ("scale<float, 1>", "scale<double, 3>", "deep::negate<int>", "deep::negate<long long>")


@pytest.fixture(scope="module")
def language(gpu):
    return gpu.compile(source("language"), names=TEMPLATES)


@pytest.fixture
def polynomial():
    p = np.zeros((), POLYNOMIAL)
    p["degree"], p["scale"], p["coefficient"], p["shift"] = 4, 0.5, [1, -2, 3, 0.25, 2], [-1, 0, 300]
    return p


@pytest.mark.parametrize(("name", "dtype", "each"), [(TEMPLATES[0], "f4", 1), (TEMPLATES[1], "f8", 3)])
def test_an_instance_of_a_template(gpu, language, name, dtype, each):
    values = np.arange(100, dtype=dtype)
    on_device = gpu.array(values)
    language[name](-(-100 // (32 * each)), 32, [on_device, 2.5, 100])
    np.testing.assert_array_equal(on_device.numpy(), values * 2.5)


@pytest.mark.parametrize(("name", "dtype"), [(TEMPLATES[2], "i4"), (TEMPLATES[3], "i8")])
def test_an_instance_in_a_namespace(gpu, language, name, dtype):
    on_device = gpu.array(np.arange(20, dtype=dtype))
    language[name](1, 32, [on_device, 10])
    np.testing.assert_array_equal(on_device.numpy(), [*range(0, -10, -1), *range(10, 20)])


def test_a_structure_by_value_with_an_array_indexed_dynamically(gpu, language, polynomial):
    x = np.linspace(-2, 2, 50).astype(np.float32)
    y = gpu.empty(50, "f8")
    language["evaluate"](1, 64, [polynomial, gpu.array(x), y, 50])
    expected = np.polyval(polynomial["coefficient"][::-1].astype("f8"), x.astype("f8")) * 0.5
    np.testing.assert_allclose(y.numpy(), expected + np.resize([-1, 0, 300], 50), rtol=1e-14)


def test_a_structure_as_bytes(gpu, language, polynomial):
    y = gpu.empty(1, "f8")
    language["evaluate"](1, 1, [polynomial.tobytes(), gpu.array([1.0], "f4"), y, 1])
    assert y[0] == 0.5 * 4.25 - 1


def test_parameters_of_every_size(gpu, language):
    out = gpu.empty(9, "f8")
    small = np.array((200, 60000), SMALL)
    language["mixed_parameters"](1, 4, [-5, -300, small, -(2**40), True, 0.1, 0.5, 250, out])
    np.testing.assert_array_equal(out.numpy(), [-5, -300, 200, 60000, -(2**40), 1, 0.1, 0.5, 250])
    types = [np.int8(5), np.int16(7), small[()], np.int64(9), np.bool_(False), np.float64(2), np.float32(3), np.uint8(4)]
    language["mixed_parameters"](1, 32, [*types, out])
    np.testing.assert_array_equal(out.numpy(), [5, 7, 200, 60000, 9, 0, 2, 3, 4])


def test_constant_memory_is_filled_by_the_host(gpu, language):
    index = np.random.default_rng(1).integers(0, 16, 40).astype(np.int32)
    language.constant("lut")[:] = np.arange(16, dtype=np.float32) ** 2
    out = gpu.empty(40)
    language["look_up"](1, 64, [gpu.array(index), out, 40])
    np.testing.assert_array_equal(out.numpy(), index**2 + np.resize([304, 506], 40))
    language.constant("lut", "f4")[:] = -1
    language["look_up"](1, 64, [gpu.array(index), out, 40])
    np.testing.assert_array_equal(out.numpy(), np.resize([303, 505], 40))


def test_device_variables_and_pointers_to_them(gpu):
    module = gpu.compile(source("language"))
    out, letters = gpu.zeros(5, "i4"), gpu.zeros(3, "u1")
    module["variables"](1, 32, [out, letters])
    assert out.numpy().tolist() == [42, 30, 30, 6, 40]
    assert letters.numpy().tobytes() == b"wli"
    assert module.variable("counter")[0] == 42
    assert module.variable("uninitialised", "f4").numpy().tolist() == [0] * 6 + [1.5]
    module.variable("counter")[0] = 7
    module["variables"](1, 32, [out, letters])
    assert out.numpy().tolist() == [8, 40, 40, 6, 40]


def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def test_recursion_to_a_different_depth_in_each_lane(gpu, language):
    out = [gpu.empty(40, dtype) for dtype in ("u8", "i4", "i4", "i4")]
    language["recursion"](1, 40, out)
    expected = [
        [math.factorial(i % 21) for i in range(40)],
        [fibonacci(i % 13) for i in range(40)],
        [ackermann(i % 3, i % 4) for i in range(40)],
        [i % 2 == 0 for i in range(40)],
    ]
    for found, values in zip(out, expected, strict=True):
        np.testing.assert_array_equal(found.numpy(), values)


def test_recursion_with_an_array_at_every_level(gpu, language):
    n = 100
    tree = np.random.default_rng(2).integers(0, 50, n).astype(np.int32)
    trails = {}

    def walk(node, depth, trail):
        trail[depth] = (node, depth, int(tree[node]))[depth % 3]
        children = [c for c in (2 * node + 1, 2 * node + 2) if c < n]
        return int(tree[node]) + max([walk(c, depth + 1, trail) for c in children], default=0)

    out = gpu.zeros(40, "i4")
    language["heaviest_path"](1, 40, [gpu.array(tree), n, out])
    expected = []
    for t in range(40):
        trails[t] = {}
        expected.append(walk(t, 0, trails[t]) * 1000 + trails[t][1] % 1000)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_function_pointers_with_a_different_target_in_each_lane(gpu, language):
    n = 100
    rng = np.random.default_rng(3)
    which, a, b = rng.integers(0, 4, n).astype(np.int32), *rng.random((2, n), np.float32)
    on_device = gpu.array(a)
    language["apply_each"](2, 64, [gpu.array(which), on_device, gpu.array(b), n])
    np.testing.assert_array_equal(on_device.numpy(), np.choose(which, [a + b, a - b, a * b, np.maximum(a, b)]))


def test_virtual_calls(gpu, language):
    out = gpu.empty(48)
    language["virtual_calls"](1, 48, [out])
    t = np.arange(48)
    np.testing.assert_array_equal(out.numpy(), np.where(t % 3, t * t, 3 * t * t))


def test_structures_passed_to_and_returned_from_functions(gpu, language, polynomial):
    out = gpu.empty(33)
    language["structures_by_value"](1, 33, [polynomial, out])
    t = np.arange(33)
    np.testing.assert_array_equal(out.numpy(), polynomial["coefficient"][t % 5] + t + 1000 * t + 4)


def interpret(code, t, steps):
    """The state machine of `interpret` in language.cu."""
    mask = 0xFFFFFFFF
    a, b, at = t, 1, 0
    for s in range(steps):
        operation = code[at] % 12
        if operation == 0:
            a = (a + b) & mask
        elif operation == 1:
            a = (a - b) & mask
        elif operation == 2:
            a = a * 3 & mask
        elif operation == 3:
            b = a & 7
        elif operation == 4:
            b ^= a
        elif operation == 5:
            a = (a << 1 | a >> 31) & mask
        elif operation == 6:
            at += a & 1
        elif operation == 7:
            a, b = b, a
        elif operation in (8, 9):
            a = a ^ mask if operation == 8 else a
            b = (b + 5) & mask
        elif operation == 10:
            b = (b + sum(range(a & 3))) & mask
        else:
            a ^= s
            continue
        at = (at + 1) % (len(code) - 1)
    return a, b


def test_a_switch_heavy_state_machine(gpu, language):
    threads, length, steps = 64, 10, 60
    programs = np.random.default_rng(4).integers(0, 256, (threads, length)).astype(np.uint8)
    results = gpu.empty((threads, 2), "u4")
    language["interpret"](2, 32, [gpu.array(np.append(programs, 0), 'u1'), length, results, steps])
    # the machine may skip to one past the end of its code, where the next thread's begins
    after = np.pad(programs[1:, :1], ((0, 1), (0, 0)))
    codes = np.hstack([programs, after]).tolist()
    expected = [interpret(codes[t], t, steps) for t in range(threads)]
    np.testing.assert_array_equal(results.numpy(), expected)


def test_carry_chains_in_inline_assembly(gpu, language):
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2**32, (2, 32, 4), dtype=np.uint32)
    a[0], b[0] = 0xFFFFFFFF, [1, 0, 0, 0]
    total, difference = gpu.empty((32, 4), "u4"), gpu.empty((32, 4), "u4")
    language["add_128"](1, 32, [gpu.array(a), gpu.array(b), total, difference])
    for row in range(32):
        x, y = (int.from_bytes(v[row].tobytes(), "little") for v in (a, b))
        assert total[row].tobytes() == ((x + y) % 2**128).to_bytes(16, "little")
        assert difference[row].tobytes() == ((x - y) % 2**128).to_bytes(16, "little")


def test_predicates_in_inline_assembly(gpu, language):
    values = np.arange(32, dtype=np.int32)
    out = gpu.empty(32, "i4")
    language["predicated_assembly"](1, 32, [gpu.array(values), out])
    np.testing.assert_array_equal(out.numpy(), np.where(values > 10, values + 100, 5 - values))


def test_the_clock_goes_on_while_a_kernel_waits_for_it(gpu, language):
    taken, low = gpu.zeros(32, "i8"), gpu.zeros(32, "u4")
    language["watch_the_clock"](1, 32, [taken, low])
    assert (taken.numpy() >= 10000).all()
    assert (taken.numpy() < 10100).all()
    apart = abs(low.numpy().astype(int) - taken.numpy())
    assert (apart < (20 if gpu.machine is None else 2000)).all()  # on a machine instructions are fetched between the two looks
