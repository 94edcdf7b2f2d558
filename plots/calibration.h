/* SPDX-License-Identifier: Apache-2.0
 *
 * A calibration as a picture: the roofline of the device with the points of the intensity sweep,
 * and below it how much of its theoretical peak each ceiling reaches.
 */
#ifndef RP_PLOTS_CALIBRATION_H
#define RP_PLOTS_CALIBRATION_H

#include "kernels/calibration.h"
#include "plots/plots.h"

/* RP_INPUT: there is no DRAM bandwidth or no compute ceiling to draw. RP_USAGE: a format without
 * gnuplot (.txt). */
rp_code rp_plot_calibration(const rp_calibration *calibration, const rp_plot_options *options,
                            rp_error *error);

#endif
