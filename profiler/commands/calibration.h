/* SPDX-License-Identifier: Apache-2.0
 *
 * How calibrate prints what was measured: text, Markdown, HTML and CSV from one table, and JSON of
 * schema roofprof.calibration/1.
 */
#ifndef RP_COMMANDS_CALIBRATION_H
#define RP_COMMANDS_CALIBRATION_H

#include "kernels/calibration.h"
#include "output/table.h"

void rp_calibration_print(const rp_calibration *calibration, rp_format format, FILE *file);

#endif
