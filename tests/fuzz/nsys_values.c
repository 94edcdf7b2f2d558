/* SPDX-License-Identifier: Apache-2.0
 *
 * The importer of Nsight Systems exports over sound databases of odd values: the bytes become the
 * cells of the tables it reads, of any type SQLite has. (fuzz-nsys breaks the databases themselves,
 * and seldom gets past SQLite.)
 */
#include "importers/importer.h"
#include "input.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    const uint8_t *at;
    size_t left;
} bytes;

static const struct {
    const char *create, *insert;
    int columns;
} tables[] = {
    {"CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value)",
     "INSERT OR IGNORE INTO StringIds VALUES(?,?)", 2},
    {"CREATE TABLE TARGET_INFO_GPU(id, name, l2CacheSize, totalMemory, memoryBandwidth, clockRate,"
     " smCount, computeMajor, computeMinor, uuid, chipName)",
     "INSERT INTO TARGET_INFO_GPU VALUES(?,?,?,?,?,?,?,?,?,?,?)", 11},
    {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2(start, end, deviceId, streamId, correlationId,"
     " globalPid, demangledName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ,"
     " dynamicSharedMemory, graphNodeId)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V2 VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 16},
    {"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, globalPid, bytes, copyKind)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(?,?,?,?,?,?)", 6},
    {"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, globalTid, correlationId)",
     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?)", 3},
    {"CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid, textId)",
     "INSERT INTO NVTX_EVENTS VALUES(?,?,?,?,?,?)", 6},
    {"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, deviceId, globalPid, address, bytes, "
     "memKind,"
     " memoryOperationType)",
     "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(?,?,?,?,?,?,?)", 7},
};
enum { TABLES = sizeof tables / sizeof *tables };

static uint64_t take(bytes *b, size_t n) {
    uint64_t value = 0;
    for (; n > 0 && b->left > 0; n--, b->left--)
        value = value << 8 | *b->at++;
    return value;
}

static void bind_cell(sqlite3_stmt *row, int column, bytes *b) {
    uint64_t kind = take(b, 1), n;
    double real;
    switch (kind % 8) {
    case 0:
        sqlite3_bind_null(row, column);
        break;
    case 1:
        sqlite3_bind_int64(row, column, (int64_t)take(b, 8));
        break;
    case 2:
        n = take(b, 1);
        n = n < b->left ? n : b->left;
        sqlite3_bind_text(row, column, (const char *)b->at, (int)n, SQLITE_TRANSIENT);
        b->at += n;
        b->left -= n;
        break;
    case 3:
        n = take(b, 8);
        memcpy(&real, &n, sizeof real);
        sqlite3_bind_double(row, column, real);
        break;
    case 4:
        sqlite3_bind_int64(row, column, (int64_t)take(b, 3));
        break;
    default: /* mostly what fits, or little is imported */
        sqlite3_bind_int64(row, column, (int64_t)(kind / 8));
    }
}

static void fill(sqlite3 *db, bytes *b) {
    for (size_t i = 0; i < TABLES; i++)
        if (sqlite3_exec(db, tables[i].create, NULL, NULL, NULL) != SQLITE_OK)
            abort();
    while (b->left > 0) {
        size_t i = take(b, 1) % TABLES;
        sqlite3_stmt *row;
        if (sqlite3_prepare_v2(db, tables[i].insert, -1, &row, NULL) != SQLITE_OK)
            abort();
        for (int column = 1; column <= tables[i].columns; column++)
            bind_cell(row, column, b);
        sqlite3_step(row); /* a constraint may refuse the row */
        sqlite3_finalize(row);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = input_file((const uint8_t *)"", 0);
    bytes b = {data, size < 4096 ? size : 4096};
    sqlite3 *db;
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN", NULL, NULL,
                     NULL) != SQLITE_OK)
        abort();
    fill(db, &b);
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    rp_capture *capture = NULL;
    rp_error error = {0};
    if (rp_capture_create(&capture, NULL, "fuzz", &error))
        abort();
    rp_code code = rp_importer_nsys.import(path, capture, &error);
    if (code != RP_OK && (code != RP_INPUT || !error.message[0]))
        abort();
    rp_capture_abandon(capture);
    return 0;
}
