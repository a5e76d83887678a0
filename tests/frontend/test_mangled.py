"""C++ names as the compiler mangles them."""

import pytest

from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.mangled import demangle, is_called, plain_name, readable_name

SOURCE = """
struct A { int n; };
template <class T> struct V { T a; };
namespace ns { struct A { int n; }; template <class T> struct V { T a; };
    template <class T, unsigned N, bool B> __global__ void scale(T *x, int i, T y) {}
    namespace inner { __global__ void f(A a, A *b, const A &c, ns::V<A> *d) {} } }
namespace { template <class T> __global__ void hidden(T x) {} }
template <class T> __global__ void vectors(V<T> v, V<V<T>> *w, const T *const *p, T (*q)[4], void (*g)(int, T), T *r, V<T> *s) {}
template <class F> __global__ void call(F f) { f(); }
template <class... T> __global__ void pack(T... x) {}
template <int N> __global__ void number() {}
template <class T> __global__ void twice(T x, volatile T *y, ns::V<T> z) {}
"""
READABLE = {
    "ns::scale<float, 64, true>": "ns::scale<float, 64, true>(float*, int, float)",
    "ns::inner::f": "ns::inner::f(ns::A, ns::A*, const ns::A&, ns::V<ns::A>*)",
    "hidden<long long>": "hidden<long long>(long long)",
    "vectors<double>": "vectors<double>(V<double>, V<V<double>>*, const double* const*, double[4]*, void(int, double)*, "
    "double*, V<double>*)",
    "number<-3>": "number<-3>()",
    "twice<unsigned char>": "twice<unsigned char>(unsigned char, volatile unsigned char*, ns::V<unsigned char>)",
    "twice<const char *>": "twice<const char*>(const char*, const char* volatile*, ns::V<const char*>)",
    "twice<V<A>>": "twice<V<A>>(V<A>, volatile V<A>*, ns::V<V<A>>)",
    "twice<float2>": "twice<float2>(float2, volatile float2*, ns::V<float2>)",
}


@pytest.fixture(scope="module")
def mangled():
    return compile_cuda(SOURCE, name_expressions=[*READABLE, "pack<int, float>"]).names


@pytest.mark.parametrize("name", READABLE)
def test_a_name_is_read_as_the_source_has_it(mangled, name):
    known = demangle(mangled[name])
    assert known is not None
    assert known.spellings[-1] == READABLE[name]
    assert is_called(mangled[name], name)
    assert not is_called(mangled[name], name + "x")


def test_parameters_that_are_not_read_leave_the_name(mangled):
    known = demangle(mangled["pack<int, float>"])
    assert (known.readable, known.parameters) == ("pack<int, float>", None)


@pytest.mark.parametrize(
    ("name", "plain", "readable"),
    [
        ("saxpy", "saxpy", "saxpy"),
        ("_Z5saxpyifPKfPf", "saxpy", "saxpy"),
        ("_ZN2ns1fEv", "f", "ns::f"),
        ("_ZN12_GLOBAL__N_11fEPi", "f", "f"),
        ("_ZL5table", "table", "table"),
        ("_Z4callIZ4mainEUlvE_EvT_", "call", "call"),
        ("_ZN2ns4callIZ4mainEUlvE_EEvT_", "call", "call"),
        ("_Z", "_Z", "_Z"),
        ("_Z99short", "_Z99short", "_Z99short"),
        ("_ZNK", "_ZNK", "_ZNK"),
        ("_Z1fS_", "f", "f"),
    ],
)
def test_plain_and_readable_names(name, plain, readable):
    assert (plain_name(name), readable_name(name)) == (plain, readable)


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ("f<unsigned>", True),
        ("f<unsigned int>", True),
        ("f< unsigned >", True),
        ("f<int>", False),
        ("f<unsigned>(unsigned)", True),
        ("f", True),
        ("g", False),
    ],
)
def test_spellings_of_one_type(asked, same):
    assert is_called("_Z1fIjEvT_", asked) is same
