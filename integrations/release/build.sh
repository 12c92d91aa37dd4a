#!/usr/bin/env bash
# Makes every file of a release for one platform. `build.sh --help` says how; docs/install.md says what they are for.
set -euo pipefail

usage() {
    cat <<'USAGE'
Usage: build.sh [OPTIONS]

Builds tau (profile `dist`) and packs it in every form that is released.

  --binary FILE    pack this tau and build nothing
  --texts FILE     a tau that runs here, for completions and the man page (default: the packed one)
  --target TRIPLE  the platform (default: this machine's)
  --native         link with this machine's C library, not with glibc 2.17 or musl
  --out DIR        where the files go (default: target/release-files)
  --address URL    where the release will be served; without it some files are left out
  --only LIST      comma-separated: archive, deb, rpm, npm, wheel
  --fast           compress little, for tests

With files of other platforms in DIR, the lists (SHA256SUMS, release.json, …) name them too.
USAGE
}

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
binary="" texts="" target="" native="" out="$root/target/release-files" address="${TAU_RELEASE_URL:-}"
only="archive,deb,rpm,npm,wheel" fast=""

while [ $# -gt 0 ]; do
    case "$1" in
        --binary | --texts | --target | --out | --address | --only)
            [ $# -ge 2 ] || { echo "build.sh: $1 needs a value" >&2; exit 2; }
            declare "${1#--}=$2"
            shift 2
            ;;
        --native) native=1; shift ;;
        --fast) fast=--fast; shift ;;
        --help | -h) usage; exit 0 ;;
        *) echo "build.sh: unknown argument $1; see build.sh --help" >&2; exit 2 ;;
    esac
done

need() { # need PROGRAM HOW-TO-GET-IT
    command -v "$1" >/dev/null || { echo "build.sh: $1 is missing: $2" >&2; exit 3; }
}
need python3 "install Python 3.9 or newer"
need cargo "install Rust from your system or https://rustup.rs; it lists the crates, also with --binary"

[ -n "$target" ] || target=$(rustc -vV | sed -n 's/^host: //p')

if [ -z "$binary" ]; then
    # The address is compiled in, so that `tau update` knows where to look.
    export TAU_RELEASE_URL="$address"
    case "$target$native" in
        *-linux-gnu | *-linux-musl)
            need cargo-zigbuild "pip install cargo-zigbuild ziglang, or use --native"
            # It looks for zig in the PATH and in the packages of this python3.
            command -v zig >/dev/null || python3 -c 'import ziglang' 2>/dev/null ||
                need zig "pip install ziglang for the python3 of your PATH, or use --native"
            libc=""
            case "$target" in *-gnu) libc=.2.17 ;; esac
            (cd "$root" && cargo zigbuild --profile dist --locked --bin tau --target "$target$libc")
            ;;
        *) (cd "$root" && cargo build --profile dist --locked --bin tau --target "$target") ;;
    esac
    folder=$(cd "$root" && cargo metadata --format-version 1 --no-deps --locked |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    binary="$folder/$target/dist/tau"
fi

mkdir -p "$out"
python3 "$here/package.py" --binary "$binary" --texts "${texts:-$binary}" --target "$target" --out "$out" \
    --only "$only" $fast
python3 "$here/index.py" --out "$out" --address "$address"
