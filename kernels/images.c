/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries the fat binaries in this object's read-only data: the assembler includes the files, which
 * CMake names (RP_FATBIN_FOLDER). Without nvcc there are none.
 */
#include "kernels/images.h"

#ifdef RP_FATBIN_FOLDER
#define EMBED(NAME)                                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            "rp_fatbin_" #NAME ":\n"                                                               \
            ".incbin \"" RP_FATBIN_FOLDER "/" #NAME ".fatbin\"\n"                                  \
            "rp_fatbin_" #NAME "_end:\n"                                                           \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char rp_fatbin_##NAME[] __attribute__((visibility("hidden")));                    \
    extern const char rp_fatbin_##NAME##_end[] __attribute__((visibility("hidden")))
#define IMAGE(NAME)                                                                                \
    { rp_fatbin_##NAME, (size_t)(rp_fatbin_##NAME##_end - rp_fatbin_##NAME) }

EMBED(vector);
EMBED(mma);
EMBED(wgmma);
EMBED(memory);
EMBED(sweep);

rp_image rp_image_of(rp_image_name name) {
    const rp_image images[RP_IMAGES] = {[RP_IMAGE_VECTOR] = IMAGE(vector),
                                        [RP_IMAGE_MMA] = IMAGE(mma),
                                        [RP_IMAGE_WGMMA] = IMAGE(wgmma),
                                        [RP_IMAGE_MEMORY] = IMAGE(memory),
                                        [RP_IMAGE_SWEEP] = IMAGE(sweep)};
    return images[name];
}

const char *rp_images_built_with(void) {
    return RP_BUILT_WITH;
}
#else
rp_image rp_image_of(rp_image_name name) {
    (void)name;
    return (rp_image){0};
}

const char *rp_images_built_with(void) {
    return "";
}
#endif
