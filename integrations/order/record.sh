#!/usr/bin/env bash
# Writes data/order.ld again: the functions of tau that the start and ordinary use need, which a release is linked
# with side by side (build.rs).
#
# Without it they are spread over all of the code, and the system maps 64 kB around each of them, which is half of
# the file. Run it before a release and after larger changes: each function that is used and not listed costs 64 kB or
# more, and nothing else.
#
# A release is recorded with valgrind while the benchmark drives it. The linker, lld, says in which section each
# function lies. Names are written without the hashes of their crates, so they hold for other versions of those.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."

if ! command -v valgrind >/dev/null; then
    echo "valgrind is missing: install it; data/order.ld stays as it is" >&2
    exit 1
fi
target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cargo build --release --locked --bin tau --example bench
bench="$target/release/examples/bench"

# In place of tau: the same, recorded, in a project and with the folders that users have. The benchmark kills it, so
# records are written every few steps.
mkdir "$work/home" "$work/project"
git init --quiet "$work/project"
echo "Answer briefly." >"$work/project/AGENTS.md"
cat >"$work/recorded" <<END
#!/bin/sh
cd "$work/project"
exec env -u TAU_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME HOME="$work/home" \
    valgrind --tool=callgrind --log-file=/dev/null --callgrind-out-file="$work/calls.%p" \
    --dump-every-bb="\$steps" --compress-strings=no --demangle=no "$work/tau" "\$@" \$flags
END
chmod +x "$work/recorded"

# build UNITS: a tau in so many units, and in which section each of its symbols lies. Equal functions share one.
build() {
    cargo rustc --release --locked --config "profile.release.package.tau.codegen-units=$1" --bin tau -- \
        -C strip=none -C link-arg=-Wl,-Map="$work/map",--no-demangle
    mv "$target/release/tau" "$work/tau"
    # It was linked under a name of its own, and cargo would keep it.
    find "$target/release/deps" -samefile "$work/tau" -delete
    awk '{ at = index($0, ":(.text.") }
         at { section = substr($0, at + 2, length($0) - at - 2); next }
         index($0, ":(") { section = ""; next }
         section != "" && NF == 5 { print $5, section }' "$work/map" >"$work/sections"
}

# record NAME STEPS FLAGS PARTS...: adds the sections of the functions that run meanwhile.
record() {
    steps="$2" flags="$3" "$bench" --alone --keys 20 --tau "$work/recorded" "${@:4}"
    sed -n "s/^fn=//; T; s/'[0-9]*\$//; p" "$work"/calls.* |
        awk 'NR == FNR { section[$1] = $2; next } $0 in section { print section[$0] }' "$work/sections" - |
        sed -E 's/Cs[0-9A-Za-z]+_/Cs*_/g' >>"$work/$1"
    rm "$work"/calls.*
    sort -u -o "$work/$1" "$work/$1"
}

# Which functions are inlined changes with the code around them. In more units fewer are, so the list holds longer.
for units in 2 16; do
    build "$units"
    record start 100000 "" idle --idle 3
    # With what the first start has left, and with a session.
    record start 100000 "" idle --idle 3
    record use 2000000 "" reply stream pressure --rounds 1
    record start 100000 --continue idle --idle 3
done
if [ "$(wc -l <"$work/start")" -lt 1000 ]; then
    echo "only $(wc -l <"$work/start") functions were recorded: tau does not run under valgrind here" >&2
    exit 1
fi

{
    echo "/* Written by integrations/order/record.sh, read by build.rs: functions that are used, the start's first. */"
    echo "SECTIONS { .text.used : {"
    echo "*("; cat "$work/start"; echo ")"
    echo "*("; comm -13 "$work/start" "$work/use"; echo ")"
    echo "} }"
    echo "INSERT BEFORE .text;"
} >data/order.ld
echo "wrote data/order.ld: $(wc -l <"$work/start") functions of the start, $(wc -l <"$work/use") of use"
cargo build --release --locked --bin tau
"$bench" --alone --tau "$target/release/tau" start reply
