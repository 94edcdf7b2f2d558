/* SPDX-License-Identifier: Apache-2.0
 *
 * Short names of kernels as profilers give them: templates, lambdas, anonymous namespaces, names
 * cut at either end, hostile ones.
 */
#include "capture/name.h"
#include "support/text.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(const char *name, const char *expected) {
    char *label = rp_name_short(name);
    assert_non_null(label);
    assert_string_equal(label, expected);
    free(label);
}

static void test_plain(void **state) {
    (void)state;
    check("saxpy", "saxpy");
    check("saxpy(int, float, float*, float*)", "saxpy");
    check("void saxpy<float>(int, float*)", "saxpy");
    check("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn");
    check("triton_poi_fused_add_0", "triton_poi_fused_add_0");
    check("unsigned long ns::count<3>(int)", "count");
    check("std::enable_if<true, void>::type ns::f<int>(int)", "f");
    check("kernel [clone .kd]", "kernel");
    check("", "");
    check("a kernel with spaces", "a kernel with spaces");
}

static void test_nested(void **state) {
    (void)state;
    check(
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
        "vectorized_elementwise_kernel");
    check("(anonymous namespace)::softmax_warp_forward(float*, int)", "softmax_warp_forward");
    check("void at::native::(anonymous namespace)::cat<int>(int)", "cat");
    check("void at::native::<unnamed>::distribution_kernel<float, (int)4>(long)",
          "distribution_kernel");
    check("unnamed>::gemm_naive_kernel(const float *, const float *)", "gemm_naive_kernel");
    check("void f<(a > b), g<(x<3)> >(int)", "f");
    check("void f<ns::op<(ns::E)1>, decltype(x->y)>(int)", "f");
    check("void ns::Functor::operator()<int>(int) const", "Functor::operator()");
    check("bool ns::Less::operator<(int)", "Less::operator<");
    check("void f<&ns::operator<< <int> >(int)", "f");
    check("void gpu_kernel<int>(int)::{lambda(float)#1}::operator()(float) const",
          "gpu_kernel::operator()");
    check("gpu_kernel(int)::[lambda(float) (instance 1)]",
          "gpu_kernel::[lambda(float) (instance 1)]");
    check("lambda() (instance 2)]", "lambda");
}

static void test_shared_entries(void **state) {
    (void)state;
    check("void cutlass::Kernel<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x1_tn_align8>"
          "(cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x1_tn_align8::Params)",
          "Kernel<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_128x1_tn_align8>");
    check("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, "
          "a::B> >(cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int>, a::B>::Params)",
          "device_kernel<GemmUniversal>");
}

static void test_odd_bytes(void **state) {
    (void)state;
    check("`reboot`", "`reboot`");
    check("$(reboot)", "$");
    check("a'\"b", "a'\"b");
    check("{/Symbol a}", "{/Symbol a}");
    check("@home^2", "@home^2");
    check("two\nlines", "two\\nlines");
    check("bad\xFFutf8\xC3", "bad\\xffutf8\\xc3");
    check("x');alert(1);('", "x');alert");
}

static void test_mangled(void **state) {
    (void)state;
    char *name = rp_name_demangle("_Z5saxpyIfEviT_PS0_S1_");
    assert_string_equal(name, "void saxpy<float>(int, float, float*, float*)");
    free(name);
    assert_null(rp_name_demangle("saxpy"));
    assert_null(rp_name_demangle(""));
    assert_null(rp_name_demangle("_Z"));
    assert_null(rp_name_demangle("_Znot mangled at all"));
    check("_ZN7cutlass6KernelI3fooIivEvT_", "Kernel"); /* cannot be demangled */
    check("_Z3foo", "foo");
    check("_Z", "_Z");
    check("_Z99999999999999999999x", "_Z99999999999999999999x");
}

/* Longer than the compiler's own demangler takes. */
static void test_long_mangled(void **state) {
    (void)state;
    char mangled[8192], *p = mangled;
    p += sprintf(p, "_Z4gemmI");
    for (int i = 0; i < 300; i++)
        p += sprintf(p, "N2ns7Tag%04dE", i);
    sprintf(p, "EvT_");
    char *name = rp_name_demangle(mangled);
    assert_non_null(name);
    assert_non_null(strstr(name, "void gemm<ns::Tag0000, ns::Tag0001"));
    free(name);
}

/* 210 bytes that stand for 35 MB, and more of the kind for gigabytes. */
static void test_expanding_mangled(void **state) {
    (void)state;
    char mangled[4096], *p = mangled;
    p += sprintf(p, "_Z1f1aIiiE");
    for (int i = 0; i < 34; i++) {
        char id = (char)(i < 10 ? '0' + i : 'A' + i - 10);
        p += sprintf(p, "S%c_IS%c_S%c_E", '0', id, id);
    }
    clock_t start = clock();
    char *name = rp_name_demangle(mangled);
    assert_true(!name || strlen(name) <= 1 << 20);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
    free(name);
}

/* Deep nesting of every kind neither overflows the stack nor takes quadratic time. */
static void test_deep(void **state) {
    (void)state;
    enum { SIZE = 100000 };
    static const char *const patterns[] = {"P",        "<",           "(",      "{",  "a<",
                                           "a::",      "(a)::",       ">",      ") ", "_Z",
                                           "operator", "(x) const::", "f(x)::", ", ", "<a>,"};
    char *name = malloc(SIZE + 16);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        for (int mangled = 0; mangled < 2; mangled++) {
            size_t length = (size_t)sprintf(name, "%s", mangled ? "_Z3foo" : "f<");
            size_t limit = mangled ? 30000 : SIZE;
            while (length + strlen(patterns[i]) < limit)
                length += (size_t)sprintf(name + length, "%s", patterns[i]);
            clock_t start = clock();
            char *full = rp_name_demangle(name), *label = rp_name_short(full ? full : name);
            assert_non_null(label);
            assert_true(rp_text_is_printable(label, strlen(label)));
            assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
            free(full);
            free(label);
        }
    }
    free(name);
}

static void test_collective(void **state) {
    (void)state;
    assert_true(
        rp_name_is_collective("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"));
    assert_true(rp_name_is_collective("void nvshmemi_transfer<int>(int)"));
    assert_false(rp_name_is_collective("my_nccl_like(int)"));
}

/* Gives the short names that N full NAMES get when they stand together. */
static void distinguish(const char *const *names, size_t n, const char *const *expected) {
    char *labels[8];
    for (size_t i = 0; i < n; i++)
        labels[i] = rp_name_short(names[i]);
    assert_true(rp_name_distinguish(names, n, labels));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(labels[i], expected[i]);
        free(labels[i]);
    }
}

static void test_distinguish(void **state) {
    (void)state;
    const char *functors[] = {"void k<4, ns::Add<float>, A>(int)",
                              "void k<4, ns::Mul<float>, A>(int)"};
    distinguish(functors, 2, (const char *[]){"k<Add>", "k<Mul>"});
    const char *types[] = {"void k<float, 4>(int)", "void k<double, 4>(int)",
                           "void k<float, 8>(int)"};
    distinguish(types, 3, (const char *[]){"k<float, 4>", "k<double>", "k<float, 8>"});
    const char *deep[] = {"void k<ns::Wrap<ns::Copy<int> > >(int)",
                          "void k<ns::Wrap<ns::Fill<int> > >(int)"};
    distinguish(deep, 2, (const char *[]){"k<Copy>", "k<Fill>"});
    const char *overloads[] = {"k(int)", "k(float)", "k(double)"};
    distinguish(overloads, 3, (const char *[]){"k", "k #2", "k #3"});
    /* alike ones are numbered together, wherever they stand */
    const char *apart[] = {"void k<1>(int)", "void k<2>(int)", "void k<1>(float)",
                           "void k<2>(float)"};
    distinguish(apart, 4, (const char *[]){"k<1>", "k<2>", "k<1> #2", "k<2> #2"});
    const char *lambdas[] = {
        "void k<1, ns::impl<ns::copy(T&)::{lambda()#1}>(T&)::{lambda(int)#1}>(int)",
        "void k<1, ns::impl<ns::fill(T&)::{lambda()#1}>(T&)::{lambda(int)#1}>(int)"};
    distinguish(lambdas, 2, (const char *[]){"k<copy::{lambda()#1}>", "k<fill::{lambda()#1}>"});
}

/* Many long rivals: no worse than linear in all their text. */
static void test_distinguish_many(void **state) {
    (void)state;
    enum { N = 2000, SIZE = 5000 };
    char **names = calloc(N, sizeof *names), **labels = calloc(N, sizeof *labels);
    for (int i = 0; i < N; i++) {
        names[i] = malloc(SIZE + 32);
        size_t length = (size_t)sprintf(names[i], "void k<");
        while (length < SIZE)
            length += (size_t)sprintf(names[i] + length, "ns::T<int>, ");
        sprintf(names[i] + length, "%d>(int)", i / 2);
        labels[i] = strdup("k");
    }
    clock_t start = clock();
    assert_true(rp_name_distinguish((const char *const *)names, N, labels));
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 5);
    assert_string_equal(labels[0], "k<0>");
    assert_string_equal(labels[1], "k<0> #2");
    assert_string_equal(labels[N - 2], "k<999>");
    for (int i = 0; i < N; i++) {
        free(names[i]);
        free(labels[i]);
    }
    free(names);
    free(labels);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain),
                                       cmocka_unit_test(test_nested),
                                       cmocka_unit_test(test_shared_entries),
                                       cmocka_unit_test(test_odd_bytes),
                                       cmocka_unit_test(test_mangled),
                                       cmocka_unit_test(test_long_mangled),
                                       cmocka_unit_test(test_expanding_mangled),
                                       cmocka_unit_test(test_deep),
                                       cmocka_unit_test(test_collective),
                                       cmocka_unit_test(test_distinguish),
                                       cmocka_unit_test(test_distinguish_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
