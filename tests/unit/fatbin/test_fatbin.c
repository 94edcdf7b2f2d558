/* SPDX-License-Identifier: Apache-2.0
 *
 * The fat-binary reader on containers made by hand: every storage form, the choice of an
 * architecture, wrappers of both versions, and bytes that lie. Truncations are tried at every
 * length, so that a reader that trusts a size runs into the sanitizers.
 */
#include "emulator/fatbin/fatbin.h"
#include <elf.h>
#include <lz4.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k() { ret; ret; ret; ret; ret; ret; ret; ret; }\n";

typedef struct buffer {
    uint8_t bytes[8192];
    size_t size;
} buffer;

static void put(buffer *b, size_t at, uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; i++)
        b->bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static void open_container(buffer *b) {
    put(b, b->size, 0xBA55ED50u, 4);
    put(b, b->size + 4, 1, 2);
    put(b, b->size + 6, 16, 2);
    b->size += 16;
}

static void close_container(buffer *b, size_t start) {
    put(b, start + 8, b->size - start - 16, 8);
}

static void add_entry(buffer *b, int kind, int arch, uint64_t flags, const void *payload,
                      size_t stored, size_t compressed, size_t expanded) {
    size_t at = b->size, padded = (stored + 7) / 8 * 8;
    put(b, at, (unsigned)kind, 2);
    put(b, at + 2, 0x0101, 2);
    put(b, at + 4, 80, 4); /* a header longer than its known part */
    put(b, at + 8, padded, 8);
    put(b, at + 16, compressed, 4);
    put(b, at + 26, 9, 2);
    put(b, at + 28, (unsigned)arch, 4);
    put(b, at + 40, flags, 8);
    put(b, at + 56, expanded, 8);
    memcpy(b->bytes + at + 80, payload, stored);
    b->size += 80 + padded;
}

static void add_raw(buffer *b, int kind, int arch, uint64_t flags) {
    add_entry(b, kind, arch, 0x11 | flags, text, sizeof text, 0, 0);
}

static void expect_text(const emu_image *image) {
    char *bytes;
    size_t length;
    emu_fault fault;
    assert_non_null(image);
    assert_int_equal(emu_image_expand(image, &bytes, &length, &fault), EMU_OK);
    assert_string_equal(bytes, text);
    assert_int_equal(length, sizeof text - 1);
    free(bytes);
}

static void test_storage_forms(void **state) {
    (void)state;
    buffer b = {0};
    char packed[512];
    open_container(&b);
    add_raw(&b, 1, 70, 0);
    int lz4 = LZ4_compress_default(text, packed, sizeof text - 1, sizeof packed);
    assert_true(lz4 > 0);
    add_entry(&b, 1, 80, 0x2011, packed, (size_t)lz4, (size_t)lz4, sizeof text - 1);
    size_t zstd = ZSTD_compress(packed, sizeof packed, text, sizeof text, 3);
    assert_false(ZSTD_isError(zstd));
    add_entry(&b, 1, 90, 0x8011, packed, zstd, zstd, sizeof text);
    close_container(&b, 0);

    emu_fatbin f = {0};
    size_t used;
    assert_int_equal(emu_fatbin_add(&f, b.bytes, b.size, &used, NULL), EMU_OK);
    assert_int_equal(used, b.size);
    assert_int_equal(f.count, 3);
    static const emu_compression forms[] = {EMU_RAW, EMU_LZ4, EMU_ZSTD};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(f.images[i].compression, forms[i]);
        expect_text(&f.images[i]);
    }
    emu_fatbin_free(&f);
}

static void test_choice(void **state) {
    (void)state;
    buffer b = {0};
    emu_fatbin f = {0};
    open_container(&b);
    add_raw(&b, 2, 80, 0);
    add_raw(&b, 1, 75, 0);
    add_raw(&b, 1, 86, 0);
    add_raw(&b, 1, 90, 0x100000);
    add_raw(&b, 1, 90, 0);
    add_raw(&b, 7, 90, 0); /* a kind nobody knows */
    add_raw(&b, 1, 120, 0);
    close_container(&b, 0);
    assert_int_equal(emu_fatbin_add(&f, b.bytes, b.size, NULL, NULL), EMU_OK);
    assert_int_equal(f.count, 6);
    static const struct {
        int cc, arch;
        bool specific;
    } rows[] = {{75, 75, false},  {80, 75, false},   {89, 86, false},  {90, 90, true},
                {100, 90, false}, {120, 120, false}, {121, 120, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const emu_image *image = emu_fatbin_best(&f, 0, EMU_IMAGE_PTX, rows[i].cc);
        assert_int_equal(image->arch, rows[i].arch);
        assert_int_equal(image->arch_specific, rows[i].specific);
    }
    assert_null(emu_fatbin_best(&f, 0, EMU_IMAGE_PTX, 70));
    assert_null(emu_fatbin_best(&f, 1, EMU_IMAGE_PTX, 90));
    assert_null(emu_fatbin_best(&f, 0, EMU_IMAGE_ELF, 90)); /* SASS of another major */
    assert_int_equal(emu_fatbin_best(&f, 0, EMU_IMAGE_ELF, 86)->arch, 80);
    emu_fatbin_free(&f);
}

/* PTX in the place of a cubin (NVRTC's door) runs where the cubin would. */
static void test_choice_for_cubin(void **state) {
    (void)state;
    buffer b = {0};
    emu_fatbin f = {0};
    open_container(&b);
    add_raw(&b, 1, 80, EMU_FATBIN_FOR_CUBIN);
    add_raw(&b, 1, 90, EMU_FATBIN_FOR_CUBIN | EMU_FATBIN_ARCH_SPECIFIC);
    close_container(&b, 0);
    assert_int_equal(emu_fatbin_add(&f, b.bytes, b.size, NULL, NULL), EMU_OK);
    assert_true(f.images[0].for_cubin && f.images[1].for_cubin);
    static const struct {
        int cc, arch;
    } rows[] = {{75, 0}, {80, 80}, {86, 80}, {90, 90}, {100, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const emu_image *image = emu_fatbin_best(&f, 0, EMU_IMAGE_PTX, rows[i].cc);
        assert_int_equal(image ? image->arch : 0, rows[i].arch);
    }
    emu_fatbin_free(&f);
}

static void test_wrappers(void **state) {
    (void)state;
    buffer linked = {0}, one = {0}, two = {0};
    open_container(&linked);
    add_raw(&linked, 2, 90, 0);
    close_container(&linked, 0);
    open_container(&one);
    add_raw(&one, 1, 80, 0);
    close_container(&one, 0);
    open_container(&two);
    add_raw(&two, 1, 90, 0);
    close_container(&two, 0);
    const void *further[] = {one.bytes, two.bytes, NULL};
    struct {
        uint32_t magic, version;
        const void *container, *further;
    } w = {0x466243B1u, 2, linked.bytes, further};
    emu_fatbin f = {0};
    emu_fault fault;
    assert_int_equal(emu_fatbin_add_wrapper(&f, &w, &fault), EMU_OK);
    assert_int_equal(f.containers, 3);
    assert_null(emu_fatbin_best(&f, 0, EMU_IMAGE_PTX, 90));
    expect_text(emu_fatbin_best(&f, 1, EMU_IMAGE_PTX, 90));
    expect_text(emu_fatbin_best(&f, 2, EMU_IMAGE_PTX, 90));
    emu_fatbin_free(&f);
    w.version = 1; /* then the last pointer means nothing */
    assert_int_equal(emu_fatbin_add_wrapper(&f, &w, &fault), EMU_OK);
    assert_int_equal(f.containers, 1);
    emu_fatbin_free(&f);
    w.version = 3;
    assert_int_equal(emu_fatbin_add_wrapper(&f, &w, &fault), EMU_BAD_PTX);
    assert_non_null(strstr(fault.message, "version 3"));
}

/* The bytes in a block of exactly their size, so that reading past them is seen. */
static void try_bytes(const uint8_t *bytes, size_t size, bool must_fail) {
    uint8_t *exact = malloc(size ? size : 1);
    emu_fatbin f = {0};
    emu_fault fault;
    memcpy(exact, bytes, size);
    emu_status status = emu_fatbin_add(&f, exact, size, NULL, &fault);
    if (must_fail) {
        assert_int_equal(status, EMU_BAD_PTX);
        assert_int_equal(f.count, 0);
        assert_true(fault.message[0] != 0);
    }
    for (size_t i = 0; i < f.count; i++) {
        char *expanded;
        size_t length;
        if (emu_image_expand(&f.images[i], &expanded, &length, &fault) == EMU_OK)
            free(expanded);
    }
    emu_fatbin_free(&f);
    free(exact);
}

static void test_truncated(void **state) {
    (void)state;
    buffer b = {0};
    open_container(&b);
    add_raw(&b, 1, 80, 0);
    close_container(&b, 0);
    for (size_t size = 0; size < b.size; size++)
        try_bytes(b.bytes, size, true);
}

static void test_lying_sizes(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        unsigned width;
        bool must_fail;
    } lies[] = {
        {8, UINT64_MAX, 8, true},
        {8, UINT64_MAX - 15, 8, true},
        {6, 8, 2, true},
        {16 + 4, 0, 4, true},
        {16 + 4, UINT32_MAX, 4, true},
        {16 + 8, UINT64_MAX, 8, true},
        {16 + 8, UINT64_MAX - 79, 8, true},
        {16 + 16, UINT32_MAX, 4, true},
        {16 + 16, 40, 4, true}, /* compressed, no method */
        {4, 2, 2, true},
        {0, 0, 4, true},
        {16, 0, 2, false},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        buffer b = {0};
        open_container(&b);
        add_raw(&b, 1, 80, 0);
        close_container(&b, 0);
        put(&b, lies[i].at, lies[i].value, lies[i].width);
        try_bytes(b.bytes, b.size, lies[i].must_fail);
    }
}

static void test_bad_payloads(void **state) {
    (void)state;
    static const uint64_t claims[] = {0, 1, 4096, (uint64_t)1 << 40, UINT64_MAX};
    static const uint64_t flags[] = {0x2011, 0x8011};
    for (size_t c = 0; c < sizeof claims / sizeof *claims; c++)
        for (size_t m = 0; m < 2; m++) {
            buffer b = {0};
            emu_fatbin f = {0};
            char *bytes;
            size_t length;
            emu_fault fault;
            open_container(&b);
            add_entry(&b, 1, 80, flags[m], text, 40, 40, claims[c]); /* text is neither */
            close_container(&b, 0);
            assert_int_equal(emu_fatbin_add(&f, b.bytes, b.size, NULL, &fault), EMU_OK);
            assert_int_equal(emu_image_expand(&f.images[0], &bytes, &length, &fault), EMU_BAD_PTX);
            assert_non_null(strstr(fault.message, "sm_80"));
            emu_fatbin_free(&f);
        }
}

/* ---- Cubins ---- */

typedef struct seen {
    unsigned count;
    emu_cubin_kernel last;
} seen;

static void note_kernel(void *context, const emu_cubin_kernel *kernel) {
    seen *s = context;
    s->count++;
    s->last = *kernel;
}

/* An ELF file with .symtab (one kernel), .nv.info, and one table for all the names. */
static size_t make_cubin(uint8_t *bytes) {
    static const char names[] = "\0.symtab\0.strtab\0.nv.info\0_Z1kv";
    static const uint32_t info[] = {0x0101ff03, /* an attribute of another format */
                                    0x00082f04, 1, 40, 0x00081104, 1, 256};
    Elf64_Ehdr header = {
        .e_shoff = sizeof header, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 2};
    size_t data = sizeof header + 4 * sizeof(Elf64_Shdr);
    Elf64_Sym symbols[2] = {{0}, {.st_name = 26}};
    Elf64_Shdr sections[4] = {{0},
                              {.sh_name = 1,
                               .sh_type = SHT_SYMTAB,
                               .sh_offset = data,
                               .sh_size = sizeof symbols,
                               .sh_link = 2},
                              {.sh_name = 9,
                               .sh_type = SHT_STRTAB,
                               .sh_offset = data + sizeof symbols,
                               .sh_size = sizeof names},
                              {.sh_name = 17,
                               .sh_type = SHT_LOPROC,
                               .sh_offset = data + sizeof symbols + sizeof names,
                               .sh_size = sizeof info}};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, sections, sizeof sections);
    memcpy(bytes + data, symbols, sizeof symbols);
    memcpy(bytes + data + sizeof symbols, names, sizeof names);
    memcpy(bytes + data + sizeof symbols + sizeof names, info, sizeof info);
    return data + sizeof symbols + sizeof names + sizeof info;
}

static void test_cubin(void **state) {
    (void)state;
    uint8_t bytes[1024];
    size_t size = make_cubin(bytes);
    seen s = {0};
    assert_int_equal(emu_cubin_visit(bytes, size, note_kernel, &s), 1);
    assert_string_equal(s.last.name, "_Z1kv");
    assert_int_equal(s.last.registers, 40);
    assert_int_equal(s.last.local_bytes, 256);
}

static void test_cubin_any_bytes(void **state) {
    (void)state;
    uint8_t bytes[1024], *exact;
    size_t size = make_cubin(bytes);
    seen s = {0};
    for (size_t n = 0; n < size; n++) {
        exact = malloc(n ? n : 1);
        memcpy(exact, bytes, n);
        emu_cubin_visit(exact, n, note_kernel, &s);
        free(exact);
    }
    exact = malloc(size);
    for (size_t at = 0; at < size; at++)
        for (unsigned v = 0; v < 4; v++) {
            memcpy(exact, bytes, size);
            exact[at] = (uint8_t)(v == 0 ? 0xff : v == 1 ? 0x7f : v == 2 ? 0 : exact[at] + 1);
            emu_cubin_visit(exact, size, note_kernel, &s);
        }
    free(exact);
    assert_true(s.count > 0); /* most of the damage is elsewhere */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_storage_forms),    cmocka_unit_test(test_choice),
        cmocka_unit_test(test_choice_for_cubin), cmocka_unit_test(test_wrappers),
        cmocka_unit_test(test_truncated),        cmocka_unit_test(test_lying_sizes),
        cmocka_unit_test(test_bad_payloads),     cmocka_unit_test(test_cubin),
        cmocka_unit_test(test_cubin_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
