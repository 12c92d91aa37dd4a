#!/bin/sh
# Installs tau for this user: no root, nothing but files below one folder and links to them.
#
#   TAU_RELEASE_URL   where the release is served (default: the address this script was made for)
#   TAU_PREFIX        where to install (default: ~/.local)
#
# `install.sh --dry-run` only says what would be done. `tau update` and `tau uninstall` work on what this installs.
set -eu

address="${TAU_RELEASE_URL:-@ADDRESS@}"
prefix="${TAU_PREFIX:-${HOME:?set HOME, or TAU_PREFIX}/.local}"
# The links name it.
case "$prefix" in
    /*) ;;
    *) prefix="$PWD/$prefix" ;;
esac
folder="$prefix/share/taucode"

say() { printf '%s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

dry=""
case "${1:-}" in
    "") ;;
    --dry-run) dry=1 ;;
    *) fail "unknown argument $1; there is only --dry-run" ;;
esac

[ -n "$address" ] || fail "no address of a release is known: set TAU_RELEASE_URL"
case "$address" in
    https://* | file:///* | http://127.0.0.1:* | http://localhost:* | 'http://[::1]:'*) ;;
    *) fail "the address must begin with https:// or file:///: $address" ;;
esac

fetch() { # fetch NAME FILE
    if [ "${address#file://}" != "$address" ]; then
        cp "${address#file://}/$1" "$2"
    elif has curl; then
        curl --fail --silent --show-error --location --output "$2" "$address/$1"
    elif has wget; then
        wget -q -O "$2" "$address/$1"
    elif has python3; then
        python3 -c 'import shutil, sys, urllib.request as web
with web.urlopen(sys.argv[1]) as answer, open(sys.argv[2], "wb") as file: shutil.copyfileobj(answer, file)' \
            "$address/$1" "$2"
    else
        fail "curl, wget or python3 is needed to download"
    fi || fail "cannot download $address/$1"
}

hash_of() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        fail "sha256sum, shasum or openssl is needed to check the download"
    fi
}

machine=$(uname -m)
case "$machine" in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "tau is not built for $machine; build it from source" ;;
esac
case "$(uname -s)" in
    Linux)
        target="$machine-unknown-linux-gnu"
        # Systems with musl have its loader.
        if ls /lib/ld-musl-*.so.1 >/dev/null 2>&1; then target="$machine-unknown-linux-musl"; fi
        ;;
    Darwin) target="$machine-apple-darwin" ;;
    *) fail "tau is not built for $(uname -s)" ;;
esac
ending=tar.gz
if has xz; then ending=tar.xz; fi

work=$(mktemp -d)
# What is unpacked there until it is complete; `tau update` and `tau uninstall` know the beginning of the name.
unfinished=""
trap 'rm -rf "$work" ${unfinished:+"$unfinished"}' EXIT
trap 'exit 1' HUP INT TERM
fetch SHA256SUMS "$work/sums"
archive=$(sed -n "s/^[0-9a-f]\{64\}  \(taucode-[0-9A-Za-z.+-]*-$target\.$ending\)\$/\1/p" "$work/sums" | head -n 1)
[ -n "$archive" ] || fail "the release at $address has no $ending for $target"
name="${archive%."$ending"}"
version="${name#taucode-}"
version="${version%-"$target"}"

say "tau $version for $target, from $address"
say "  $folder/$version   the program, its manual, completions and licences"
say "  $prefix/bin/tau, taucode   links to it; also links for completions and the man page below $prefix/share"
if [ -n "$dry" ]; then
    say "Nothing was changed (--dry-run)."
    exit 0
fi

fetch "$archive" "$work/$archive"
wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $archive\$/\1/p" "$work/sums")
found=$(hash_of "$work/$archive")
[ "$wanted" = "$found" ] || fail "$archive has SHA-256 $found, but the release says $wanted; nothing was installed"
say "SHA-256 is right: $found"

case "$ending" in
    tar.xz) xz -dc "$work/$archive" | tar -xf - -C "$work" ;;
    *) gzip -dc "$work/$archive" | tar -xf - -C "$work" ;;
esac
"$work/$name/bin/tau" --version >/dev/null || fail "the program does not run on this machine; nothing was installed"
echo install.sh >"$work/$name/share/taucode/package"

unfinished="$folder/.new-$version"
why=$({ mkdir -p "$folder" "$prefix/bin" && rm -rf "$unfinished" && mkdir "$unfinished" &&
    mv "$work/$name" "$unfinished/$version"; } 2>&1) || fail "cannot write to $folder: ${why##*: }; nothing was installed"
# The version before this one stays, for `tau update --back`.
before=$(readlink "$folder/current" 2>/dev/null || true)
if [ -n "$before" ] && [ "$before" != "$version" ]; then ln -sfn "$before" "$folder/previous"; fi
rm -rf "${folder:?}/$version"
mv "$unfinished/$version" "$folder/$version"
ln -sfn "$version" "$folder/current"

leads_here() { # leads_here LINK: whether it leads below the folder, by whatever way
    to=$(readlink "$1")
    case "$to" in "$folder"/*) return 0 ;; esac
    to=$(cd -P "$(dirname "$1")" && cd -P "$(dirname "$to")" 2>/dev/null && pwd) || return 1
    case "$to" in "$(cd -P "$folder" && pwd)"/*) return 0 ;; esac
    return 1
}
start=tau
link() { # link PATH-BELOW-PREFIX PATH-BELOW-VERSION
    mkdir -p "$(dirname "$prefix/$1")"
    if [ -L "$prefix/$1" ] && ! leads_here "$prefix/$1"; then
        say "left alone: $prefix/$1 is a link to $(readlink "$prefix/$1")"
    elif [ -e "$prefix/$1" ] && [ ! -L "$prefix/$1" ]; then
        say "left alone: $prefix/$1 is not a link"
    else
        ln -sfn "$folder/current/$2" "$prefix/$1"
        printf '%s\n' "$prefix/$1" >>"$unfinished/links"
        return
    fi
    if [ "$1" = bin/tau ]; then start="$folder/current/bin/tau"; fi
}
: >"$unfinished/links"
link bin/tau bin/tau
link bin/taucode bin/taucode
for path in share/man/man1/tau.1 share/man/man1/taucode.1 share/bash-completion/completions/tau \
    share/zsh/site-functions/_tau share/fish/vendor_completions.d/tau.fish; do
    link "$path" "$path"
done
mv "$unfinished/links" "$folder/links"

say "Installed. Start it with: $start"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) say "$prefix/bin is not in your PATH; add this to your shell's settings: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
