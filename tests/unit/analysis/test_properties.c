/* SPDX-License-Identifier: Apache-2.0
 *
 * What must hold for any kernel: random ones from a fixed seed.
 *   - twice the work in twice the time is the same verdict, fraction and intensity;
 *   - more launches of the same are the same kernel with more time;
 *   - a quantity that is taken away makes nothing known that was not, and no zero of it;
 *   - the fraction is the largest ceiling time over the time.
 */
#include "fixture.h"

#include <math.h>
#include <string.h>

static uint64_t seed = 20240229;

/* xorshift64*, in [0, 1) */
static double random_unit(void) {
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return (double)((seed * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

static const rp_quantity quantities[] = {
    RP_Q_INST_FP64_ADD, RP_Q_INST_FP64_MUL, RP_Q_INST_FP64_FMA,     RP_Q_INST_FP32_ADD,
    RP_Q_INST_FP32_MUL, RP_Q_INST_FP32_FMA, RP_Q_INST_INTEGER,      RP_Q_WARP_INSTS,
    RP_Q_DRAM_BYTES,    RP_Q_L2_BYTES,      RP_Q_L1_BYTES,          RP_Q_SHARED_BYTES,
    RP_Q_LSU_REQUESTS,  RP_Q_L1_WAVEFRONTS, RP_Q_FLOPS_FP16_TENSOR, RP_Q_INST_CONVERSION,
};
#define QUANTITIES (sizeof quantities / sizeof *quantities)

typedef struct sample {
    double time_s, values[QUANTITIES]; /* NaN: not known */
} sample;

static sample random_sample(void) {
    sample s = {.time_s = 20e-6 * exp(8 * random_unit())};
    for (size_t i = 0; i < QUANTITIES; i++)
        s.values[i] = random_unit() < 0.2   ? NAN
                      : random_unit() < 0.1 ? 0
                                            : s.time_s * 1e9 * exp(9 * random_unit());
    return s;
}

static void add(fixture *f, const char *name, const sample *s, double factor, uint64_t launches) {
    rp_group *g = fixture_kernel(f, name, launches, s->time_s * factor);
    for (size_t i = 0; i < QUANTITIES; i++)
        if (!isnan(s->values[i]))
            fixture_set(g, quantities[i], s->values[i] * factor);
}

static bool same(double a, double b) {
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void assert_same_verdict(const rp_report_kernel *a, const rp_report_kernel *b) {
    assert_int_equal(a->bound, b->bound);
    assert_int_equal(a->side, b->side);
    assert_string_equal(a->bound_by, b->bound_by);
    assert_true(same(a->roof_fraction, b->roof_fraction));
    assert_true(same(a->flops_per_s, b->flops_per_s));
    for (int l = 0; l < RP_LEVELS; l++)
        assert_true(same(a->intensity[l], b->intensity[l]));
    assert_int_equal(a->above_roof, b->above_roof);
}

static void scaling(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++) {
        fixture f;
        fixture_start(&f, "NVIDIA A100-SXM4-40GB");
        sample s = random_sample();
        add(&f, "one", &s, 1, 1);
        add(&f, "twice", &s, 2, 1);
        add(&f, "often", &s, 1, 16);
        fixture_analyse(&f);
        const rp_report_kernel *one = fixture_find(&f, "one");
        assert_same_verdict(one, fixture_find(&f, "twice"));
        assert_same_verdict(one, fixture_find(&f, "often"));
        assert_true(same(one->time_lost_s * 16, fixture_find(&f, "often")->time_lost_s));
        fixture_end(&f);
    }
}

/* Every number that counting would give must stay unknown without it. */
static void taking_away(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        fixture f;
        fixture_start(&f, "NVIDIA A100-SXM4-40GB");
        sample s = random_sample();
        add(&f, "all", &s, 1, 1);
        for (size_t q = 0; q < QUANTITIES; q++)
            if (quantities[q] == RP_Q_DRAM_BYTES || random_unit() < 0.3)
                s.values[q] = NAN;
        add(&f, "fewer", &s, 1, 1);
        fixture_analyse(&f);
        const rp_report_kernel *all = fixture_find(&f, "all"), *fewer = fixture_find(&f, "fewer");
        assert_unknown(fewer->bytes[RP_DRAM]);
        assert_unknown(fewer->intensity[RP_DRAM]);
        if (fewer->bound == RP_BOUND_LATENCY)
            assert_true(all->bound == RP_BOUND_LATENCY || !isnan(all->bytes[RP_DRAM]));
        for (size_t e = 0; e < fewer->evidence_count; e++) {
            const rp_evidence *less = &fewer->evidence[e];
            for (size_t j = 0; j < all->evidence_count; j++)
                if (strcmp(all->evidence[j].key, less->key) == 0 && isnan(all->evidence[j].work))
                    assert_unknown(less->work);
        }
        fixture_end(&f);
    }
}

static void fraction_is_the_largest_time(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        fixture f;
        double largest = NAN;
        fixture_start(&f, "NVIDIA H100 80GB HBM3");
        sample s = random_sample();
        add(&f, "k", &s, 1, 3);
        fixture_analyse(&f);
        const rp_report_kernel *k = fixture_find(&f, "k");
        for (size_t e = 0; e < k->evidence_count; e++)
            if (!k->evidence[e].upper_bound)
                largest = fmax(largest, k->evidence[e].time_s);
        assert_true(same(k->roof_fraction, largest / k->time_s));
        assert_true(k->roof_fraction < 0.6 || k->bound == RP_BOUND_MEMORY ||
                    k->bound == RP_BOUND_COMPUTE || k->bound == RP_BOUND_BALANCED ||
                    isnan(k->roof_fraction));
        fixture_end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaling),
        cmocka_unit_test(taking_away),
        cmocka_unit_test(fraction_is_the_largest_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
