/* SPDX-License-Identifier: Apache-2.0
 *
 * What import and merge print of the capture that they made: its name, how much is in it, and the
 * notes that came up. As text, or as one JSON document of schema roofprof.capture/1.
 */
#ifndef RP_COMMANDS_MADE_H
#define RP_COMMANDS_MADE_H

#include "capture/profile.h"
#include "support/error.h"

rp_code rp_made_print(const char *path, const rp_profile *profile, bool json, rp_error *error);

#endif
