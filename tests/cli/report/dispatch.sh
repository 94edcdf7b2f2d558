#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command's front door: help, version, unknown words, every command's --help.
set -euo pipefail
roofprof=$1 version=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { # CODE ARGUMENT...
    local code=$1 got=0
    shift
    "$roofprof" "$@" >out 2>err </dev/null || got=$?
    [ "$got" = "$code" ] || fail "roofprof $* exits $got, not $code: $(cat err)"
}

expect 2
[ -s out ] && fail 'usage belongs on stderr'
expect 0 --help
grep -q '^commands:' out || fail 'help lists the commands'
cp out help
expect 0 help
cmp -s out help || fail "'help' and '--help' differ"
expect 0 --version
[ "$(cat out)" = "roofprof $version" ] || fail "version: $(cat out)"
expect 2 help nonsense
grep -q "no command 'nonsense'" err || fail "$(cat err)"

# every command explains itself, on stdout, without touching anything
sed -n '/^commands:/,/^$/p' help | awk 'NR > 1 && NF { print $1 }' | grep -v '^help$' >names
[ -s names ] || fail 'no command is listed'
while read -r name; do
    expect 0 "$name" --help
    grep -q "^usage: roofprof $name" out || fail "$name --help: $(head -1 out)"
    [ -s err ] && fail "$name --help writes to stderr"
    cp out one
    expect 0 help "$name"
    cmp -s out one || fail "'help $name' and '$name --help' differ"
done <names
[ "$(ls)" = "$(printf 'err\nhelp\nnames\none\nout')" ] || fail "left behind: $(ls)"

# a first word that is no command is a program: not found is 127 where programs can be wrapped
if grep -qx run names; then
    expect 127 ./no-such-program
    expect 127 -- ./report
    grep -q 'did you mean' err && fail "$(cat err)"
    expect 127 --report there ./no-such-program
    grep -q 'did you mean' err && fail "$(cat err)"
    expect 127 reprot train.roof
    grep -q "did you mean the command 'report'" err || fail "$(cat err)"
fi

# closed streams: what is said goes nowhere, never into a file that was opened since
"$roofprof" devices H100 -o whole >out 2>err || fail "$(cat err)"
"$roofprof" devices H100 -o list <&- >&- 2>&- || fail "closed streams: exit $?"
cmp -s whole list || fail 'closed streams: the file is not what it should be'
got=0
"$roofprof" devices H100 >&- 2>err || got=$?
[ "$got" = 125 ] || fail "a report that nobody can read exits $got"
echo OK
