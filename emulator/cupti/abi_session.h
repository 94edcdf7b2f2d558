/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameter blocks of the older profiler sessions, declared from their documented layout and held
 * against the toolkit's headers by tests/unit/emu_doors/abi.c. size: of the block as its caller
 * knows it; a NULL context is the current one.
 */
#ifndef EMU_CUPTI_ABI_SESSION_H
#define EMU_CUPTI_ABI_SESSION_H

#include <stddef.h>
#include <stdint.h>

typedef struct session_options { /* of a counter data image */
    size_t size;
    void *priv;
    const uint8_t *prefix;
    size_t prefix_size;
    uint32_t ranges, nodes, name_length;
} session_options;

typedef struct session_image_params { /* CalculateSize and Initialize of a counter data image */
    size_t size;
    void *priv;
    size_t options_size;
    const session_options *options;
    size_t image_size; /* out of CalculateSize */
    uint8_t *image;    /* Initialize alone has it */
} session_image_params;

typedef struct session_scratch_params { /* CalculateScratchBufferSize, InitializeScratchBuffer */
    size_t size;
    void *priv;
    size_t image_size;
    uint8_t *image;
    size_t scratch_size; /* out of CalculateScratchBufferSize */
    uint8_t *scratch;    /* InitializeScratchBuffer alone has it */
} session_scratch_params;

typedef struct session_begin_params {
    size_t size;
    void *priv, *context;
    size_t image_size;
    uint8_t *image;
    size_t scratch_size;
    uint8_t *scratch;
    uint8_t dump;
    const char *dump_path;
    int range, replay;
    size_t ranges_per_pass, launches_per_pass;
} session_begin_params;

typedef struct session_config_params {
    size_t size;
    void *priv, *context;
    const uint8_t *config;
    size_t config_size;
    uint16_t least_level, levels;
    size_t pass;
    uint16_t target_level;
} session_config_params;

typedef struct session_params { /* EndSession, UnsetConfig, BeginPass, Enable, Disable, PopRange */
    size_t size;
    void *priv, *context;
} session_params;

typedef struct session_end_pass_params {
    size_t size;
    void *priv, *context;
    uint16_t target_level; /* out, as what follows */
    size_t pass;
    uint8_t all_submitted;
} session_end_pass_params;

typedef struct session_flush_params {
    size_t size;
    void *priv, *context;
    size_t ranges_dropped, bytes_dropped; /* out */
} session_flush_params;

typedef struct session_collected_params { /* IsPassCollected */
    size_t size;
    void *priv, *context;
    size_t ranges_dropped, bytes_dropped; /* out, as what follows */
    uint8_t one, all;
} session_collected_params;

typedef struct session_push_params {
    size_t size;
    void *priv, *context;
    const char *name;
    size_t name_length; /* 0: it ends where it says */
} session_push_params;

#endif
