/* SPDX-License-Identifier: Apache-2.0
 *
 * The hardware database: devices and their ceilings, read from CSV files (devices, throughput,
 * measured, interconnect, metrics; columns in docs/hwdb.md), overlaid by the user's own records.
 * Every peak is dense; 2:4 sparsity appears only as a ceiling whose `sparse` is set. Rates are per
 * second in SI units (FLOP/s, OP/s, B/s), clocks in Hz, sizes in bytes. Unknown is NaN or -1 or
 * NULL, never 0.
 *
 * The emulated device links this library too; it depends on nothing but libcsv and support/.
 */
#ifndef RP_HWDB_HWDB_H
#define RP_HWDB_HWDB_H

#include "capture/quantity.h"
#include "support/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rp_hwdb rp_hwdb;

/* Reads the shipped files (from $ROOFPROF_HWDB, else the installed data folder, else the source
 * tree of an uninstalled build), then $XDG_DATA_HOME/roofprof/ (default ~/.local/share), then
 * OVERLAY (a CSV file or a folder; NULL none). Later records replace earlier ones field by field.
 */
rp_code rp_hwdb_load(rp_hwdb **db, const char *overlay, rp_error *error);
void rp_hwdb_free(rp_hwdb *db);

/* The folder of the shipped files, to be freed; the plots' scripts lie in plots/ beside it. NULL:
 * no memory. */
char *rp_hwdb_shipped_folder(void);
/* The folder that the shipped files were read from. */
const char *rp_hwdb_folder(const rp_hwdb *db);

typedef enum rp_hw_precision {
    RP_FP64,
    RP_FP32,
    RP_TF32,
    RP_BF16,
    RP_FP16,
    RP_FP8,
    RP_FP6,
    RP_FP4,
    RP_INT8,
    RP_INT4,
    RP_INT1,
    RP_INT32,
    RP_PRECISIONS
} rp_hw_precision;
typedef enum rp_hw_path { RP_VECTOR, RP_TENSOR, RP_PATHS } rp_hw_path;
typedef enum rp_hw_level {
    RP_DRAM,
    RP_L2,
    RP_L1,
    RP_SHARED,
    RP_PCIE,
    RP_NVLINK,
    RP_LEVELS
} rp_hw_level;
const char *rp_precision_name(rp_hw_precision precision);
const char *rp_path_name(rp_hw_path path);
const char *rp_level_name(rp_hw_level level);
/* int1 to int32, whose operations are no FLOPs. */
bool rp_precision_is_integer(rp_hw_precision precision);
/* By name ("bf16", "dram"); false if there is none. */
bool rp_precision_find(const char *name, rp_hw_precision *precision);
bool rp_level_find(const char *name, rp_hw_level *level);

/* A limit of a device. Compute: precision, path and, on the tensor path, the rest. */
typedef struct rp_ceiling {
    bool compute;              /* false: bandwidth */
    rp_hw_precision precision; /* compute */
    rp_hw_path path;
    char instruction[8]; /* tensor: "" best, "mma", "wgmma", "tcgen05" */
    char accumulate[8];  /* tensor: "" the default (fp32, or int32), "fp16" */
    bool sparse;
    rp_hw_level level;        /* bandwidth */
    double rate;              /* FLOP/s, OP/s or B/s */
    double clock_hz;          /* the SM (or memory) clock behind it; NaN not known */
    rp_provenance provenance; /* DATASHEET, THEORETICAL, CALIBRATED ... */
    const char *source;       /* where the number is from; lives with the database */
    /* Of calibrated records; NULL or "" not known: the very device, its driver then, and when; and
     * its power limit then, 0 or NaN not known. */
    const char *uuid, *driver, *date;
    double power_limit_w;
} rp_ceiling;

/* "fp16_tensor", "fp16_acc16_tensor", "fp32_vector", "int8_tensor_sparse"; or the level's name. */
void rp_ceiling_key(const rp_ceiling *ceiling, char *buffer, size_t size);
/* "B/s", "FLOP/s", "OP/s". */
const char *rp_ceiling_unit(const rp_ceiling *ceiling);
/* The other way: fills kind, precision, path, accumulate, sparse, level of a zeroed ceiling. */
bool rp_ceiling_from_key(const char *key, rp_ceiling *ceiling);

typedef struct rp_device {
    const char *name, *vendor, *arch, *chip, *variant; /* variant: of the throughput table */
    const char
        *aliases; /* ;-separated; those that other devices' names also fit make it a default */
    char compute_capability[16]; /* "9.0"; "" for other vendors */
    int cc_major, cc_minor;      /* -1 none */
    int64_t sm_count;
    double boost_hz, tensor_hz, memory_hz;
    int64_t memory_bytes; /* as a driver reports it, else the label in GB x 1e9 */
    bool memory_bytes_reported;
    double memory_label_gb; /* the vendor's label */
    const char *memory_type;
    int64_t memory_bus_bits, l2_bytes, shared_bytes_per_sm;
    double tdp_w, sparse_factor;
    double nvlink_bytes_per_s,
        pcie_bytes_per_s;               /* one direction; nvlink: all links, one direction */
    const char *pcie;                   /* "5x16" */
    const char *pci_ids, *device_names; /* ;-separated */
    const char *derived; /* ;-separated columns that are arithmetic, not printed anywhere */
    const char *flags;   /* ;-separated: peaks known not to follow from SMs x throughput x
                            clock; "KEY_sparse": 2:4 sparsity does not double this one;
                            "pci_shared": its PCI id is also another device's */
    const char *ops_check, *source, *note;
    bool user;                  /* from an overlay */
    const rp_ceiling *ceilings; /* datasheet first, then theoretical from throughput x SMs x clock,
                                   then calibrated records, all with their provenance */
    size_t ceiling_count;
} rp_device;

size_t rp_hwdb_count(const rp_hwdb *db);
const rp_device *rp_hwdb_at(const rp_hwdb *db, size_t i);

/* What a person typed: a name, an alias, a PCI id ("10de:2330"), "GH100:132:2619" (chip, SMs, MHz).
 * Ambiguous names take the documented default (or the user's own record) and list the candidates in
 * *others (the database's own, until the next find or match; NULL-terminated; may be NULL to
 * ignore). Without a default they are RP_INPUT with the candidates, unknown ones with the nearest
 * names. Not for two threads at once. */
rp_code rp_hwdb_find(const rp_hwdb *db, const char *name, const rp_device **device,
                     const rp_device *const **others, rp_error *error);

/* A device seen at run time or in a capture. Any field may be unknown (NULL, -1, NaN; the power
 * limit also 0). driver: as NVML says it ("580.95.05"). */
typedef struct rp_device_identity {
    const char *name, *chip, *pci_id, *uuid;
    int cc_major, cc_minor;
    int64_t sm_count, memory_bytes, memory_bus_bits;
    double sm_clock_hz, memory_clock_hz;
    const char *driver;
    double power_limit_w;
} rp_device_identity;

typedef struct rp_device_match {
    const rp_device *device; /* NULL: no row; `derived` may then hold one made from ops(cc) */
    rp_device derived; /* name and ceilings from SMs x ops(cc) x clock, 2 x memory clock x bus/8 */
    rp_ceiling derived_ceilings[128];
    char how[160];         /* "PCI id", "name", "chip, SM count and memory clock", "derived ..." */
    bool certain;          /* false: a guess among same-name parts; say so */
    char calibration[200]; /* what is to be said of its calibrated records; "" nothing */
} rp_device_match;
/* Of the calibrated records only those count that were made on this very device, where both know
 * which one that is, and at its power limit of now: others are left out. Records of the driver that
 * runs now come before those of another, which count where there is nothing better; `calibration`
 * says so. `device` is then the match's own copy of the row, so a match must not be moved. */
rp_code rp_hwdb_match(const rp_hwdb *db, const rp_device_identity *identity, rp_device_match *match,
                      rp_error *error);

/* $XDG_DATA_HOME/roofprof (default ~/.local/share/roofprof), where the user's own records are;
 * false if neither variable is set. */
bool rp_hwdb_user_folder(char *path, size_t size);

/* The ceiling of KEY-fields as should be drawn: calibrated if there is one, else theoretical at
 * CLOCK_HZ (NaN: nominal), else datasheet. NULL: none, and that is for the caller to say. */
const rp_ceiling *rp_device_compute_ceiling(const rp_device *device, rp_hw_precision precision,
                                            rp_hw_path path, const char *accumulate, bool sparse);
const rp_ceiling *rp_device_bandwidth(const rp_device *device, rp_hw_level level);

/* The ceiling that LIKE describes (kind, precision, path, instruction, accumulate, sparse or level;
 * the rest is ignored), of the first provenance in ORDER that has it. NULL: none. */
const rp_ceiling *rp_device_ceiling(const rp_device *device, const rp_ceiling *like,
                                    const rp_provenance *order, size_t n);

/* Dense operations per clock and SM of an architecture (FMA = 2); NaN not known. */
double rp_hwdb_ops_per_clock(const rp_hwdb *db, const rp_device *device, rp_hw_precision precision,
                             rp_hw_path path, const char *accumulate);
/* Further per-SM limits by compute capability (throughput.csv): schedulers ("issue" warp inst/clk),
 * "lsu" requests/clk, "l1_wavefront" /clk, "l1_bytes"/clk, "shared_bytes"/clk, "l2_bytes"/clk (the
 * whole chip's, divided by its SMs), "alu" and "xu" warp inst/clk, "max_threads", "max_warps",
 * "max_blocks", "registers" per SM, "max_threads_per_block", "registers_per_thread",
 * "registers_per_block", "shared_bytes_per_sm", "shared_per_block", "shared_optin",
 * "shared_reserved" (bytes), "warp_size". NaN not known. */
double rp_hwdb_limit(const rp_hwdb *db, const rp_device *device, const char *limit);

/* metrics.csv: how raw metrics give a quantity. Rules of one quantity are tried in file order: the
 * first whose metrics are all there wins. value = factor x sum of the terms; a term is
 * coefficient x metric [x second metric] [/ divisor]. In the file a rule is written as in
 * "a.sum+2*b.sum-c.sum*d.avg/e.sum" (no parentheses). */
typedef struct rp_metric_term {
    double coefficient;
    const char *metric, *times, *divisor; /* times, divisor: NULL none */
} rp_metric_term;
typedef struct rp_metric_rule {
    rp_quantity quantity;
    const char *chips;  /* glob list "GA100;GH100", "*" */
    const char *metric; /* the terms as written */
    double factor;
    const char *profile; /* HW SASS TENSOR WHY; "" only found in imports */
    bool estimate;       /* the value is an estimate or a bound: provenance ESTIMATED */
    const char *source, *note;
    const rp_metric_term *terms;
    size_t term_count;
} rp_metric_rule;
size_t rp_hwdb_rule_count(const rp_hwdb *db);
const rp_metric_rule *rp_hwdb_rule(const rp_hwdb *db, size_t i);
/* CHIP NULL (not known): true, but for estimates. */
bool rp_metric_rule_applies(const rp_metric_rule *rule, const char *chip);
/* LOOKUP gives a raw metric's value, NaN if absent. NaN if any metric of the rule is absent (or a
 * divisor is 0). */
double rp_metric_rule_value(const rp_metric_rule *rule,
                            double (*lookup)(void *context, const char *metric), void *context);

/* interconnect.csv */
typedef struct rp_link {
    const char *name, *generation;
    double bytes_per_s_lane; /* one direction, per lane or link */
    int lanes;
    double bytes_per_s;          /* one direction, total */
    double measured_bytes_per_s; /* NaN */
    const char *source, *note;
} rp_link;
size_t rp_hwdb_link_count(const rp_hwdb *db);
const rp_link *rp_hwdb_link(const rp_hwdb *db, size_t i);
const rp_link *rp_hwdb_find_link(const rp_hwdb *db, const char *name); /* NULL: none */

/* measured.csv: published measurements of a device, none made by this project. VALUE is in SI base
 * units (B/s, FLOP/s, OP/s, cycle). They are never ceilings: those that calibrate made are in
 * ceilings.csv of the user's folder, and become ceilings of the device. */
typedef struct rp_measurement {
    const char *device, *quantity, *unit, *source, *note;
    double value, fraction_of_peak; /* NaN */
} rp_measurement;
size_t rp_hwdb_measurement_count(const rp_hwdb *db);
const rp_measurement *rp_hwdb_measurement(const rp_hwdb *db, size_t i);

#endif
