/* SPDX-License-Identifier: Apache-2.0
 *
 * The chips that the host interfaces know where no real one is asked.
 */
#ifndef EMU_CUPTI_CHIPS_H
#define EMU_CUPTI_CHIPS_H

static const char *const chips[] = {
    "GV100", "TU102", "TU104", "TU106", "TU116", "TU117", "GA100", "GA102", "GA103", "GA104",
    "GA106", "GA107", "GA10B", "AD102", "AD103", "AD104", "AD106", "AD107", "GH100", "GB100",
    "GB102", "GB110", "GB10B", "GB202", "GB203", "GB205", "GB206", "GB207", "GB20B"};
enum { CHIPS = sizeof chips / sizeof *chips };

#endif
