/* SPDX-License-Identifier: Apache-2.0
 *
 * One importer, FUZZ_IMPORTER, over any bytes: it may refuse them, and must not crash, leak, hang
 * or leave the error unexplained.
 */
#include "importers/expand.h"
#include "importers/importer.h"
#include "input.h"
#include <stdlib.h>

static void import_into_memory(const char *path) {
    rp_capture *capture = NULL;
    rp_error error = {0};
    if (rp_capture_create(&capture, NULL, "fuzz", &error))
        abort();
    rp_code code = FUZZ_IMPORTER.import(path, capture, &error);
    if (code != RP_OK && (code != RP_INPUT || !error.message[0]))
        abort(); /* bad bytes are the input's fault, and that must be said */
    rp_capture_abandon(capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rp_expand_limit = 500; /* a million launches from one row are right, and slow */
    const char *path = input_file(data, size);
    FUZZ_IMPORTER.recognise(path, data, size < 65536 ? size : 65536);
    import_into_memory(path);
    return 0;
}
