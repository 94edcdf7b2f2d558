/* SPDX-License-Identifier: Apache-2.0
 *
 * From the modifiers of a matrix instruction to what it multiplies. */
#include "emulator/machine/tensor.h"
#include "emulator/emulator.h"
#include "emulator/ptx/ptx.h"

#include <string.h>

typedef enum form { FORM_MMA, FORM_WMMA, FORM_LOAD, FORM_STORE } form;

/* Kinds of factors that shapes and sums go by. */
typedef enum family {
    FAMILY_NONE,
    FAMILY_F16,
    FAMILY_BF16,
    FAMILY_TF32,
    FAMILY_F64,
    FAMILY_INT8,
    FAMILY_FP8
} family;

static const struct {
    bool wmma;
    family family;
    uint8_t m, n, k;
} shapes[] = {
    {false, FAMILY_F16, 16, 8, 8},   {false, FAMILY_F16, 16, 8, 16},
    {false, FAMILY_BF16, 16, 8, 8},  {false, FAMILY_BF16, 16, 8, 16},
    {false, FAMILY_TF32, 16, 8, 4},  {false, FAMILY_TF32, 16, 8, 8},
    {false, FAMILY_F64, 8, 8, 4},    {false, FAMILY_F64, 16, 8, 4},
    {false, FAMILY_F64, 16, 8, 8},   {false, FAMILY_F64, 16, 8, 16},
    {false, FAMILY_INT8, 8, 8, 16},  {false, FAMILY_INT8, 16, 8, 16},
    {false, FAMILY_INT8, 16, 8, 32}, {false, FAMILY_FP8, 16, 8, 16},
    {false, FAMILY_FP8, 16, 8, 32},  {true, FAMILY_F16, 16, 16, 16},
    {true, FAMILY_F16, 32, 8, 16},   {true, FAMILY_F16, 8, 32, 16},
    {true, FAMILY_BF16, 16, 16, 16}, {true, FAMILY_BF16, 32, 8, 16},
    {true, FAMILY_BF16, 8, 32, 16},  {true, FAMILY_INT8, 16, 16, 16},
    {true, FAMILY_INT8, 32, 8, 16},  {true, FAMILY_INT8, 8, 32, 16},
    {true, FAMILY_TF32, 16, 16, 8},  {true, FAMILY_F64, 8, 8, 4},
};

static emu_element element_named(const char *word) {
    static const char *const names[] = {
        [ELEMENT_F16] = "f16",   [ELEMENT_BF16] = "bf16", [ELEMENT_TF32] = "tf32",
        [ELEMENT_E4M3] = "e4m3", [ELEMENT_E5M2] = "e5m2", [ELEMENT_S8] = "s8",
        [ELEMENT_U8] = "u8",     [ELEMENT_F32] = "f32",   [ELEMENT_F64] = "f64",
        [ELEMENT_S32] = "s32"};
    for (int i = ELEMENT_NONE + 1; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(word, names[i]) == 0)
            return (emu_element)i;
    return ELEMENT_NONE;
}

static family family_of(int element) {
    switch (element) {
    case ELEMENT_F16:
        return FAMILY_F16;
    case ELEMENT_BF16:
        return FAMILY_BF16;
    case ELEMENT_TF32:
        return FAMILY_TF32;
    case ELEMENT_F64:
        return FAMILY_F64;
    case ELEMENT_S8:
    case ELEMENT_U8:
        return FAMILY_INT8;
    case ELEMENT_E4M3:
    case ELEMENT_E5M2:
        return FAMILY_FP8;
    default:
        return FAMILY_NONE;
    }
}

/* "m16n8k16" */
static bool parse_shape(const char *word, emu_tensor *t) {
    unsigned side[3];
    for (int i = 0; i < 3; i++) {
        if (*word++ != "mnk"[i] || *word < '1' || *word > '9')
            return false;
        side[i] = 0;
        for (; *word >= '0' && *word <= '9'; word++) {
            side[i] = 10 * side[i] + (unsigned)(*word - '0');
            if (side[i] > UINT8_MAX)
                return false;
        }
    }
    t->m = (uint8_t)side[0];
    t->n = (uint8_t)side[1];
    t->k = (uint8_t)side[2];
    return *word == 0;
}

typedef struct words { /* the modifiers, sorted */
    form form;
    int matrix; /* of a load or store; -1: not said */
    int layouts;
    bool by_column[2], sync, aligned, shape, rounded;
    emu_element element[MATRICES];
    int elements;
} words;

static bool is_one_of(const char *word, const char *const *list) {
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static bool read_word(const char *word, words *s, emu_tensor *t) {
    static const char *const spaces[] = {"global", "shared", "shared::cta", NULL};
    bool moves = s->form == FORM_LOAD || s->form == FORM_STORE;
    emu_element e = element_named(word);
    if (e != ELEMENT_NONE) {
        if (s->elements == MATRICES)
            return false;
        s->element[s->elements++] = e;
    } else if (strcmp(word, "row") == 0 || strcmp(word, "col") == 0) {
        if (s->layouts == 2)
            return false;
        s->by_column[s->layouts++] = *word == 'c';
    } else if (moves && strlen(word) == 1 && *word >= 'a' && *word <= 'd' && s->matrix < 0) {
        s->matrix = *word - 'a';
    } else if (strcmp(word, "satfinite") == 0 && !moves) {
        t->saturate = true;
    } else if (strcmp(word, "rn") == 0 && s->form == FORM_WMMA) {
        s->rounded = true;
    } else if (strcmp(word, "sync") == 0) {
        s->sync = true;
    } else if (strcmp(word, "aligned") == 0) {
        s->aligned = true;
    } else if (strcmp(word, "kind::f8f6f4") == 0) {
        return s->form == FORM_MMA;
    } else if (moves && is_one_of(word, spaces)) {
        return true;
    } else if (!s->shape && parse_shape(word, t)) {
        s->shape = true;
    } else {
        return false;
    }
    return true;
}

static bool read_words(const ptx_instruction *in, words *s, emu_tensor *t) {
    int from = 0;
    *s = (words){.form = FORM_MMA, .matrix = -1};
    if (strcmp(in->opcode, "wmma") == 0) {
        const char *what = in->modifier_count ? in->modifier[from++] : "";
        if (strcmp(what, "mma") == 0)
            s->form = FORM_WMMA;
        else if (strcmp(what, "load") == 0)
            s->form = FORM_LOAD;
        else if (strcmp(what, "store") == 0)
            s->form = FORM_STORE;
        else
            return false;
    }
    for (int i = from; i < in->modifier_count; i++)
        if (!read_word(in->modifier[i], s, t))
            return false;
    return s->sync && s->aligned && s->shape;
}

static bool has_shape(const emu_tensor *t, bool wmma, family factors) {
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].wmma == wmma && shapes[i].family == factors && shapes[i].m == t->m &&
            shapes[i].n == t->n && shapes[i].k == t->k)
            return true;
    return false;
}

/* Whether products of FACTORS are summed in E. */
static bool is_sum_of(family factors, emu_element e) {
    switch (factors) {
    case FAMILY_F16:
    case FAMILY_FP8:
        return e == ELEMENT_F16 || e == ELEMENT_F32;
    case FAMILY_BF16:
    case FAMILY_TF32:
        return e == ELEMENT_F32;
    case FAMILY_F64:
        return e == ELEMENT_F64;
    case FAMILY_INT8:
        return e == ELEMENT_S32;
    case FAMILY_NONE:
        break;
    }
    return false;
}

static void set_matrix(emu_tensor *t, emu_matrix matrix, emu_element e, bool wmma) {
    t->element[matrix] = (uint8_t)e;
    bool repeated = wmma && e == ELEMENT_F16 && (matrix == MATRIX_A || matrix == MATRIX_B);
    uint32_t n = emu_tensor_elements(t, matrix) / emu_element_packing(e);
    t->registers[matrix] = (uint8_t)(repeated ? TENSOR_MAX_REGISTERS : n);
}

/* Types stand in the order D, A, B, C; wmma of f16 names only D and C. */
static bool finish_product(const words *s, emu_tensor *t) {
    bool wmma = s->form == FORM_WMMA, short_form = wmma && s->elements == 2;
    if (s->layouts != 2 || (s->elements != 4 && !short_form))
        return false;
    emu_element d = s->element[0], c = s->element[short_form ? 1 : 3];
    emu_element a = short_form ? ELEMENT_F16 : s->element[1];
    emu_element b = short_form ? ELEMENT_F16 : s->element[2];
    family f = family_of(a);
    if (family_of(b) != f || !has_shape(t, wmma, f) || !is_sum_of(f, c) || !is_sum_of(f, d))
        return false;
    if (wmma ? a != b || (f == FAMILY_F16) != short_form
             : c != d || s->by_column[0] || !s->by_column[1])
        return false;
    if ((t->saturate && f != FAMILY_INT8) || (s->rounded && f != FAMILY_F64))
        return false;
    set_matrix(t, MATRIX_A, a, wmma);
    set_matrix(t, MATRIX_B, b, wmma);
    set_matrix(t, MATRIX_C, c, wmma);
    set_matrix(t, MATRIX_D, d, wmma);
    return true;
}

static bool finish_move(const words *s, emu_tensor *t) {
    static const family families[] = {FAMILY_F16, FAMILY_BF16, FAMILY_TF32, FAMILY_F64,
                                      FAMILY_INT8};
    if (s->matrix < 0 || s->layouts != 1 || s->elements != 1 ||
        (s->form == FORM_STORE) != (s->matrix == MATRIX_D))
        return false;
    emu_matrix matrix = (emu_matrix)s->matrix;
    emu_element e = s->element[0];
    bool factor = matrix == MATRIX_A || matrix == MATRIX_B, known = false;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        known = known || (has_shape(t, true, families[i]) &&
                          (factor ? family_of(e) == families[i] : is_sum_of(families[i], e)));
    if (!known)
        return false;
    set_matrix(t, matrix, e, true);
    t->matrix = (uint8_t)matrix;
    t->by_column = s->by_column[0];
    bool along = t->by_column == (matrix == MATRIX_B);
    t->run = (uint8_t)(!along ? 1 : factor ? emu_element_packing(e) : 2);
    return true;
}

bool emu_tensor_parse(const ptx_instruction *in, emu_tensor *tensor) {
    words s;
    *tensor = (emu_tensor){0};
    if (!read_words(in, &s, tensor))
        return false;
    return s.form == FORM_MMA || s.form == FORM_WMMA ? finish_product(&s, tensor)
                                                     : finish_move(&s, tensor);
}

int emu_tensor_precision(const emu_tensor *t) {
    switch (family_of(t->element[MATRIX_A])) {
    case FAMILY_F16:
        return t->element[MATRIX_C] == ELEMENT_F16 && t->element[MATRIX_D] == ELEMENT_F16
                   ? EMU_FP16_ACC16
                   : EMU_FP16;
    case FAMILY_BF16:
        return EMU_BF16;
    case FAMILY_TF32:
        return EMU_TF32;
    case FAMILY_INT8:
        return EMU_INT8;
    case FAMILY_FP8:
        return EMU_FP8;
    case FAMILY_F64:
    case FAMILY_NONE:
        break;
    }
    return EMU_FP64;
}
