#!/usr/bin/env bash
# Builds tau for a package: target/package/tau.
#
# Functions that run at the start and in ordinary use are spread over all of the code, and the system maps 64 kB
# around each of them, which is half of the file. So tau is recorded while the benchmark drives it, and linked
# again with the recorded functions side by side. It is the same code; it takes half the memory and begins sooner.
#
# Needs valgrind, and a linker that knows --symbol-ordering-file: lld, which Rust uses on x86_64 Linux.
# Elsewhere: RUSTFLAGS="-C link-arg=-fuse-ld=lld".
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v valgrind >/dev/null; then
    echo "valgrind is missing: install it, or use the binary of cargo build --release" >&2
    exit 1
fi
target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Only what the binary is linked with differs from cargo build --release.
link() { cargo rustc --release --locked --bin tau -- "$@"; }

cargo build --release --locked --example bench
link -C strip=none
mv "$target/release/tau" "$work/tau"

# In place of tau: the same, recorded, with the folders that users have. The benchmark kills it, so records are
# written every few steps.
cat >"$work/recorded" <<END
#!/bin/sh
exec env -u TAU_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME -u XDG_CACHE_HOME \
    valgrind --tool=callgrind --log-file=/dev/null --callgrind-out-file="$work/calls.%p" \
    --dump-every-bb="\$steps" --compress-strings=no --demangle=no "$work/tau" "\$@"
END
chmod +x "$work/recorded"
record() { "$target/release/examples/bench" --alone --keys 20 --tau "$work/recorded" "$@"; }
# What the start needs comes first.
steps=100000 record idle --idle 3
steps=2000000 record reply stream pressure --rounds 1
find "$work" -name 'calls.*' -printf '%T@ %p\n' | sort -n | cut -d ' ' -f 2 | xargs cat |
    sed -n "s/^fn=//; T; s/'[0-9]*\$//; p" | awk '!seen[$0]++' >"$work/functions"
if [ "$(wc -l <"$work/functions")" -lt 1000 ]; then
    echo "only $(wc -l <"$work/functions") functions were recorded: tau does not run under valgrind here" >&2
    exit 1
fi

link -C link-arg=-Wl,--symbol-ordering-file="$work/functions" -C link-arg=-Wl,--no-warn-symbol-ordering
mkdir -p "$target/package"
cp "$target/release/tau" "$target/package/tau"
# Each run links under a name of its own, and cargo keeps them all.
find "$target/release/deps" -samefile "$target/release/tau" -delete
"$target/release/examples/bench" --alone --tau "$target/package/tau" start reply
echo "built $target/package/tau"
