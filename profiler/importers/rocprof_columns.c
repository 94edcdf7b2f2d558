/* SPDX-License-Identifier: Apache-2.0
 *
 * The spellings of columns behind rocprof_columns.h. What is not in the list is a counter.
 */
#include "importers/rocprof_columns.h"
#include <ctype.h>
#include <string.h>

enum { NAME_SIZE = 96 };

/* Lower case, without _ and -: the versions differ in those. */
static const struct {
    const char *name;
    rp_roc_role role;
} role_names[] = {{"kernelname", RP_ROC_NAME},
                  {"name", RP_ROC_NAME},
                  {"dispatchid", RP_ROC_DISPATCH},
                  {"index", RP_ROC_DISPATCH},
                  {"gpuid", RP_ROC_DEVICE},
                  {"agentid", RP_ROC_DEVICE},
                  {"processid", RP_ROC_PROCESS},
                  {"pid", RP_ROC_PROCESS},
                  {"queueid", RP_ROC_QUEUE},
                  {"gridsize", RP_ROC_GRID},
                  {"grd", RP_ROC_GRID},
                  {"gridsizex", RP_ROC_GRID_X},
                  {"gridsizey", RP_ROC_GRID_Y},
                  {"gridsizez", RP_ROC_GRID_Z},
                  {"workgroupsize", RP_ROC_GROUP},
                  {"wgr", RP_ROC_GROUP},
                  {"workgroupsizex", RP_ROC_GROUP_X},
                  {"workgroupsizey", RP_ROC_GROUP_Y},
                  {"workgroupsizez", RP_ROC_GROUP_Z},
                  {"ldsperworkgroup", RP_ROC_LDS},
                  {"ldsblocksize", RP_ROC_LDS},
                  {"lds", RP_ROC_LDS},
                  {"groupsegmentsize", RP_ROC_LDS},
                  {"archvgpr", RP_ROC_VGPR},
                  {"vgprcount", RP_ROC_VGPR},
                  {"vgpr", RP_ROC_VGPR},
                  {"archvgprcount", RP_ROC_VGPR},
                  {"starttimestamp", RP_ROC_START},
                  {"beginns", RP_ROC_START},
                  {"startns", RP_ROC_START},
                  {"endtimestamp", RP_ROC_END},
                  {"endns", RP_ROC_END},
                  {"durationns", RP_ROC_DURATION},
                  {"countername", RP_ROC_COUNTER_NAME},
                  {"countervalue", RP_ROC_COUNTER_VALUE},
                  {"calls", RP_ROC_CALLS},
                  {"totaldurationns", RP_ROC_TOTAL},
                  {"averagens", RP_ROC_IGNORED},
                  {"percentage", RP_ROC_IGNORED},
                  {"minns", RP_ROC_IGNORED},
                  {"maxns", RP_ROC_IGNORED},
                  {"stddev", RP_ROC_IGNORED},
                  {"queueindex", RP_ROC_IGNORED},
                  {"tid", RP_ROC_IGNORED},
                  {"threadid", RP_ROC_IGNORED},
                  {"scratchperworkitem", RP_ROC_IGNORED},
                  {"scr", RP_ROC_IGNORED},
                  {"scratchsize", RP_ROC_IGNORED},
                  {"privatesegmentsize", RP_ROC_IGNORED},
                  {"accumvgpr", RP_ROC_IGNORED},
                  {"accumvgprcount", RP_ROC_IGNORED},
                  {"sgpr", RP_ROC_IGNORED},
                  {"sgprcount", RP_ROC_IGNORED},
                  {"wavesize", RP_ROC_IGNORED},
                  {"sig", RP_ROC_IGNORED},
                  {"obj", RP_ROC_IGNORED},
                  {"kernelid", RP_ROC_IGNORED},
                  {"correlationid", RP_ROC_IGNORED},
                  {"kind", RP_ROC_IGNORED},
                  {"dispatchns", RP_ROC_IGNORED},
                  {"completens", RP_ROC_IGNORED},
                  {"node", RP_ROC_IGNORED},
                  {"streamid", RP_ROC_IGNORED},
                  {"domain", RP_ROC_IGNORED},
                  {"operation", RP_ROC_IGNORED},
                  {"", RP_ROC_IGNORED}};

static rp_roc_role role_named(const char *name) {
    for (size_t i = 0; i < sizeof role_names / sizeof *role_names; i++)
        if (!strcmp(role_names[i].name, name))
            return role_names[i].role;
    return RP_ROC_COUNTER;
}

rp_roc_role rp_roc_role_of(const char *header) {
    char name[NAME_SIZE];
    size_t n = 0, digits;
    for (const char *c = header; *c && n < sizeof name - 1; c++)
        if (*c != '_' && *c != '-' && *c != ' ')
            name[n++] = (char)tolower((unsigned char)*c);
    name[n] = '\0';
    rp_roc_role found = role_named(name);
    if (found != RP_ROC_COUNTER)
        return found;
    const char *bracket = strchr(header, '[');
    if (bracket && isdigit((unsigned char)bracket[1]))
        return RP_ROC_CHANNEL;
    for (digits = n; digits && isdigit((unsigned char)name[digits - 1]);)
        digits--;
    if (digits < n && strrchr(header, '_') && strlen(strrchr(header, '_')) == n - digits + 1) {
        name[digits] = '\0';
        if (role_named(name) != RP_ROC_COUNTER)
            return RP_ROC_IGNORED;
    }
    return RP_ROC_COUNTER;
}
