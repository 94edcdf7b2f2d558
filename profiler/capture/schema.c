/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of a capture, version RP_CAPTURE_VERSION. SQLite keeps this text, comments included:
 * `sqlite3 NAME.roof .schema` is its documentation; docs/capture.md has the same with examples.
 */
#include "capture/internal.h"
#include <stdio.h>
#include <stdlib.h>

const char rp_capture_schema[] =
    "CREATE TABLE meta(\n"
    "  key TEXT PRIMARY KEY, -- tool, source, created, roofprof_version, wall_s, launches_invalid\n"
    "  value\n"
    ") WITHOUT ROWID;\n"

    "CREATE TABLE devices(\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  ordinal INTEGER, -- the number its profiler gave it\n"
    "  name TEXT, chip TEXT, uuid TEXT, pci_id TEXT,\n"
    "  cc_major INTEGER, cc_minor INTEGER,\n"
    "  sm_count INTEGER, memory_bytes INTEGER, l2_bytes INTEGER, memory_bus_bits INTEGER,\n"
    "  sm_clock_hz REAL, memory_clock_hz REAL, -- maximal\n"
    "  emulated INTEGER NOT NULL,\n"
    "  driver TEXT, power_limit_w REAL, -- it ran under; older captures lack these two\n"
    "  -- of all launches on it:\n"
    "  launches INTEGER,\n"
    "  sum_s REAL,   -- sum of kernel times\n"
    "  busy_s REAL,  -- union of kernel times: streams overlap\n"
    "  span_s REAL,  -- first start to last end\n"
    "  copy_s REAL,  -- union of copies\n"
    "  observed_sm_clock_hz REAL, -- median over launches of 12 us and more\n"
    "  peak_allocated_bytes REAL\n"
    ");\n"

    "CREATE TABLE ceilings( -- collected with the capture\n"
    "  device INTEGER NOT NULL REFERENCES devices,\n"
    "  kind TEXT NOT NULL, -- compute, bandwidth\n"
    "  precision TEXT NOT NULL, path TEXT NOT NULL, level TEXT NOT NULL, -- '' where it has none\n"
    "  provenance INTEGER NOT NULL REFERENCES provenances,\n"
    "  rate REAL NOT NULL, -- FLOP/s or B/s\n"
    "  PRIMARY KEY(device, kind, precision, path, level, provenance)\n"
    ") WITHOUT ROWID;\n"

    "CREATE TABLE processes(\n"
    "  id INTEGER PRIMARY KEY, pid INTEGER, rank INTEGER, name TEXT, host TEXT\n"
    ");\n"

    "CREATE TABLE kernels(\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  name TEXT NOT NULL, -- as captured, mangled or not; any bytes\n"
    "  demangled TEXT,     -- NULL: name is not mangled\n"
    "  short_name TEXT NOT NULL -- arguments folded; printable\n"
    ");\n"

    "CREATE TABLE configs( -- a kernel with its launch shape; NULL: not known\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  kernel INTEGER NOT NULL REFERENCES kernels,\n"
    "  grid_x INTEGER, grid_y INTEGER, grid_z INTEGER,\n"
    "  block_x INTEGER, block_y INTEGER, block_z INTEGER,\n"
    "  registers INTEGER, -- a thread\n"
    "  shared_static INTEGER, shared_dynamic INTEGER -- bytes a block\n"
    ");\n"

    "CREATE TABLE places( -- where and how a launch ran\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  device INTEGER NOT NULL REFERENCES devices,\n"
    "  process INTEGER REFERENCES processes,\n"
    "  context INTEGER, stream INTEGER,\n"
    "  time_provenance INTEGER NOT NULL REFERENCES provenances,\n"
    "  cache INTEGER NOT NULL -- 0 unknown, 1 natural, 2 cold, 3 warm\n"
    ");\n"

    "CREATE TABLE launches(\n"
    "  id INTEGER PRIMARY KEY, -- in order of arrival\n"
    "  config INTEGER NOT NULL REFERENCES configs,\n"
    "  place INTEGER NOT NULL REFERENCES places,\n"
    "  idx INTEGER NOT NULL, -- number of the launch in its process\n"
    "  start_ns INTEGER,     -- on the profiler's clock; NULL: no timeline\n"
    "  time_ns REAL,         -- duration; NULL: not known\n"
    "  correlation INTEGER, graph_node INTEGER,\n"
    "  range INTEGER REFERENCES ranges -- innermost\n"
    ");\n"

    "CREATE TABLE metrics( -- raw, by the profiler's own name\n"
    "  id INTEGER PRIMARY KEY, name TEXT NOT NULL,\n"
    "  unit TEXT, -- of the values as stored: SI base units\n"
    "  quantity TEXT -- not NULL: roofprof's own, given directly\n"
    ");\n"

    "CREATE TABLE counters(\n"
    "  key INTEGER PRIMARY KEY, -- launch << 16 | metric: use view counter_values\n"
    "  value REAL NOT NULL,\n"
    "  provenance INTEGER NOT NULL REFERENCES provenances\n"
    ");\n"

    "CREATE TABLE copies(\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  device INTEGER REFERENCES devices, process INTEGER REFERENCES processes,\n"
    "  stream INTEGER, correlation INTEGER,\n"
    "  kind TEXT NOT NULL, -- HtoD DtoH DtoD PtoP HtoH memset\n"
    "  bytes REAL, start_ns INTEGER, end_ns INTEGER,\n"
    "  time_provenance INTEGER NOT NULL REFERENCES provenances\n"
    ");\n"

    "CREATE TABLE memory( -- allocations and frees\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  device INTEGER REFERENCES devices, process INTEGER REFERENCES processes,\n"
    "  time_ns INTEGER, address INTEGER,\n"
    "  bytes REAL NOT NULL, -- negative: freed\n"
    "  kind TEXT -- device pinned managed pool\n"
    ");\n"

    "CREATE TABLE ranges( -- NVTX and the like\n"
    "  id INTEGER PRIMARY KEY, parent INTEGER REFERENCES ranges,\n"
    "  name TEXT NOT NULL, start_ns INTEGER, end_ns INTEGER\n"
    ");\n"

    "CREATE TABLE notes(\n"
    "  id INTEGER PRIMARY KEY, severity TEXT NOT NULL, -- info warning error\n"
    "  text TEXT NOT NULL,\n"
    "  derived INTEGER NOT NULL -- 1: follows from the rest, made anew when captures are joined\n"
    ");\n"

    "CREATE TABLE provenances(id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"

    "CREATE TABLE first_launches( -- of a kernel in a process: they pay for lazy loading\n"
    "  kernel INTEGER NOT NULL, process INTEGER, launch INTEGER NOT NULL\n"
    ");\n"

    "CREATE TABLE summaries( -- a row a config, device and cache state\n"
    "  id INTEGER PRIMARY KEY,\n"
    "  config INTEGER NOT NULL REFERENCES configs,\n"
    "  device INTEGER NOT NULL REFERENCES devices,\n"
    "  cache INTEGER NOT NULL,\n"
    "  launches INTEGER NOT NULL,\n"
    "  counted INTEGER NOT NULL, -- launches with a row in quantities\n"
    "  time_provenance INTEGER REFERENCES provenances,\n"
    "  time_n INTEGER NOT NULL, time_sum REAL, time_min REAL, time_max REAL, time_squares REAL,\n"
    "  -- without each kernel's first launch:\n"
    "  warm_n INTEGER NOT NULL, warm_sum REAL, warm_min REAL, warm_max REAL, warm_squares REAL\n"
    ");\n"

    "CREATE TABLE summary_quantities(\n"
    "  summary INTEGER NOT NULL REFERENCES summaries,\n"
    "  quantity TEXT NOT NULL,\n"
    "  provenance INTEGER NOT NULL REFERENCES provenances, -- the least trusted one\n"
    "  n INTEGER NOT NULL, sum REAL, min REAL, max REAL, squares REAL,\n"
    "  time_n INTEGER NOT NULL, -- and the time of the launches where it is known, s\n"
    "  time_sum REAL, time_min REAL, time_max REAL, time_squares REAL\n"
    ");\n"

    "CREATE TABLE copy_summaries(\n"
    "  device INTEGER REFERENCES devices, kind TEXT NOT NULL,\n"
    "  count INTEGER NOT NULL, bytes REAL, time_s REAL\n"
    ");\n"

    "CREATE VIEW launch_list AS\n"
    "  SELECT l.id, l.idx, p.device, p.process, p.context, p.stream, k.short_name AS kernel,\n"
    "    c.grid_x, c.grid_y, c.grid_z, c.block_x, c.block_y, c.block_z,\n"
    "    l.start_ns, l.time_ns, v.name AS time_provenance, r.name AS range,\n"
    "    l.config, l.correlation, l.graph_node\n"
    "  FROM launches l JOIN places p ON p.id = l.place JOIN configs c ON c.id = l.config\n"
    "    JOIN kernels k ON k.id = c.kernel JOIN provenances v ON v.id = p.time_provenance\n"
    "    LEFT JOIN ranges r ON r.id = l.range;\n"

    "CREATE VIEW counter_values AS\n"
    "  SELECT c.key >> 16 AS launch, m.name AS metric, c.value, m.unit, v.name AS provenance\n"
    "  FROM counters c JOIN metrics m ON m.id = (c.key & 65535)\n"
    "    JOIN provenances v ON v.id = c.provenance;\n"

    "CREATE VIEW kernel_list AS\n"
    "  SELECT s.device, k.short_name AS kernel, sum(s.launches) AS launches,\n"
    "    sum(s.time_sum) AS time_s, sum(s.time_sum) / sum(s.time_n) AS time_mean_s,\n"
    "    min(s.time_min) AS time_min_s, max(s.time_max) AS time_max_s, k.id AS kernel_id\n"
    "  FROM summaries s JOIN configs c ON c.id = s.config JOIN kernels k ON k.id = c.kernel\n"
    "  GROUP BY s.device, k.id ORDER BY time_s DESC;\n";

char *rp_capture_quantities_sql(void) {
    char *sql = NULL;
    size_t size;
    FILE *out = open_memstream(&sql, &size);
    if (!out)
        return NULL;
    fputs("CREATE TABLE quantities( -- of a launch, derived from its counters; NULL: absent\n"
          "  launch INTEGER PRIMARY KEY REFERENCES launches",
          out);
    for (unsigned q = 0; q < RP_QUANTITIES; q++)
        fprintf(out, ",\n  \"%s\" REAL /* %s */", rp_quantity_table[q].key,
                rp_quantity_table[q].unit);
    fputs("\n)", out);
    if (fclose(out) == 0)
        return sql;
    free(sql);
    return NULL;
}
