#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check_counts_test.sh CHECK_COUNTS: that the checker itself tells equal from different. A checker
# that passes everything would make all tests of closed forms worthless.
set -u

check_counts=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

cat > "$work/expect" <<'END'
{"schema":"roofprof.workload-expect/1","workload":"w","launches":[
 {"kernel":"a","launches":2,"flops_fp32":8,"tensor_fp16":0,"load_bytes":64,"store_bytes":0,"dram_read_bytes":64},
 {"kernel":"a","launches":1,"flops_fp32":9,"tensor_fp16":0,"load_bytes":64,"store_bytes":0}
]}
END
kernel='{"record":"kernel","kernel":1,"device":0,"name":"a"}'
small='{"record":"launch","launch":1,"kernel":1,"device":0,"status":"ok","counts":{"flops_algorithmic":{"fp32":8},"load_bytes":{"global":64},"caches":{"dram_read_bytes":64}}}'
large='{"record":"launch","launch":2,"kernel":1,"device":0,"status":"ok","counts":{"flops_algorithmic":{"fp32":9},"load_bytes":{"global":64},"caches":null}}'

# expect CODE WHAT LINE...: the checker's exit code for a counts file of these lines.
expect() {
    code=$1 what=$2
    shift 2
    printf '%s\n' "$@" > "$work/counts"
    "$check_counts" "$work/expect" "$work/counts" > "$work/out" 2>&1
    got=$?
    if [ $got -ne "$code" ]; then
        echo "FAILED $what: exit $got, should be $code"
        cat "$work/out"
        failed=1
    fi
}

changed() { printf '%s' "$small" | sed "$1"; }

expect 0 "equal, in another order" "$kernel" "$large" "$small" "$small"
expect 1 "a launch less" "$kernel" "$large" "$small"
expect 1 "a launch more" "$kernel" "$large" "$small" "$small" "$small"
expect 1 "another number of bytes" "$kernel" "$large" "$small" "$(changed 's/64}/68}/')"
expect 1 "bytes that should be none" "$kernel" "$large" "$small" \
    "$(changed 's/"load_bytes"/"store_bytes":{"global":4},"load_bytes"/')"
expect 1 "caches not modelled" "$kernel" "$large" "$small" \
    "$(changed 's/"caches":.*/"caches":null}}/')"
expect 1 "FLOPs of another precision" "$kernel" "$large" "$small" \
    "$(changed 's/"fp32":8/"fp32":8,"bf16":1/')"
expect 1 "FLOPs of tensor cores" "$kernel" "$large" "$small" \
    "$(changed 's/"load_bytes"/"tensor_ops":{"fp16":2},"load_bytes"/')"
expect 1 "FLOPs of tensor cores of another precision" "$kernel" "$large" "$small" \
    "$(changed 's/"load_bytes"/"tensor_ops":{"tf32":2},"load_bytes"/')"
expect 1 "a failed launch" "$kernel" "$large" "$small" "$(changed 's/"ok"/"trap"/')"
expect 1 "counting was off" "$kernel" "$large" "$small" "$(changed 's/,"counts".*/}/')"
expect 1 "another kernel" "$kernel" "$large" "$small" "$(changed 's/"kernel":1/"kernel":2/')"
repeat='{"record":"launch","launch":3,"kernel":1,"device":0,"same_as":1}'
expect 0 "a launch that repeats its kernel's last" "$kernel" "$large" "$small" "$repeat"
expect 1 "a repeat of what is not there" "$kernel" "$large" "$small" \
    "$(printf '%s' "$repeat" | sed 's/"same_as":1/"same_as":7/')"
expect 1 "a repeat that is one too many" "$kernel" "$large" "$small" "$repeat" "$repeat"
expect 1 "no launch" "$kernel"
expect 2 "a line cut off" "$kernel" "$large" '{"record":"laun'
[ $failed -eq 0 ] && echo "ok check_counts"
exit $failed
