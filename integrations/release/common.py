"""What the scripts of a release share: the version, the platforms, and archives that come out the same every time."""

import gzip
import hashlib
import io
import lzma
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "A coding agent in your terminal"
MAINTAINER = os.environ.get("TAU_MAINTAINER", "The tau authors <taucode@localhost>")

# The time of every file in every package.
TIME = int(os.environ.get("SOURCE_DATE_EPOCH", "1704067200"))


class Platform:
    """A Rust target under the names that package managers have for it."""

    def __init__(self, target, npm, deb, rpm):
        self.target, self.npm, self.deb, self.rpm = target, npm, deb, rpm
        self.arch = target.split("-")[0]
        self.is_linux = "linux" in target
        self.is_musl = target.endswith("musl")


PLATFORMS = {
    platform.target: platform
    for platform in (
        Platform("x86_64-unknown-linux-gnu", "linux-x64", "amd64", "x86_64"),
        Platform("aarch64-unknown-linux-gnu", "linux-arm64", "arm64", "aarch64"),
        Platform("x86_64-unknown-linux-musl", "linux-x64-musl", None, None),
        Platform("aarch64-unknown-linux-musl", "linux-arm64-musl", None, None),
        Platform("x86_64-apple-darwin", "darwin-x64", None, None),
        Platform("aarch64-apple-darwin", "darwin-arm64", None, None),
    )
}


def fail(text, code=3):
    """Ends the script with a message."""
    print(f"release: {text}", file=sys.stderr)
    sys.exit(code)


def left_out(what, why):
    """Says that a file of the release was not made."""
    print(f"left out: {what}: {why}", file=sys.stderr)


def made(path):
    """Says that a file was made, and how large it is."""
    print(f"made {path.name} ({path.stat().st_size / 1e6:.2f} MB)")


def version():
    """The version in the Cargo.toml of the workspace."""
    text = (ROOT / "Cargo.toml").read_text()
    found = re.search(r"\[workspace\.package\][^\[]*?^version = \"([^\"]+)\"", text, re.M | re.S)
    return found.group(1) if found else fail("Cargo.toml names no version")


def sha256(path):
    """The SHA-256 of a file in hexadecimal."""
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        for part in iter(lambda: file.read(1 << 20), b""):
            digest.update(part)
    return digest.hexdigest()


def output(*command, **options):
    """The standard output of a command, which must succeed."""
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout
    except FileNotFoundError:
        fail(f"{command[0]} is missing")
    except subprocess.CalledProcessError as error:
        fail(f"`{' '.join(map(str, command))}` ended with code {error.returncode}")


class Tree:
    """Files of a package by their path in it: bytes with a mode, or links."""

    def __init__(self):
        self.files = {}

    def add(self, path, content, mode=0o644):
        """Adds a file; `content` is bytes or text."""
        self.files[path] = (content.encode() if isinstance(content, str) else content, mode)

    def link(self, path, to):
        """Adds a symbolic link."""
        self.files[path] = (to, None)

    def moved(self, to, keep=lambda path: True):
        """The same files below another folder."""
        tree = Tree()
        tree.files = {f"{to}{path}": file for path, file in self.files.items() if keep(path)}
        return tree

    def merged(self, other):
        """These files and those of another tree."""
        tree = Tree()
        tree.files = {**self.files, **other.files}
        return tree

    def tar(self, folders=False):
        """The bytes of a tar file, in order of the paths, owned by root."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
            seen = set()
            for path, (content, mode) in sorted(self.files.items()):
                parts = path.split("/")
                above = ["/".join(parts[:end]) for end in range(1, len(parts))] if folders else []
                for name in above:
                    if name not in seen:
                        seen.add(name)
                        info = tarfile.TarInfo(f"{name}/")
                        info.type, info.mode, info.mtime = tarfile.DIRTYPE, 0o755, TIME
                        info.uname = info.gname = "root"
                        tar.addfile(info)
                info = tarfile.TarInfo(path)
                info.mtime, info.uname, info.gname = TIME, "root", "root"
                if mode is None:
                    info.type, info.linkname, info.mode = tarfile.SYMTYPE, content, 0o777
                    tar.addfile(info)
                else:
                    info.size, info.mode = len(content), mode
                    tar.addfile(info, io.BytesIO(content))
        return buffer.getvalue()

    def size(self):
        """The number of bytes in all files."""
        return sum(len(content) for content, mode in self.files.values() if mode is not None)


def xz(data, fast, target=""):
    """Data in xz, for the decoders of every system. What a program for x86 calls is found again as absolute
    addresses, which makes it 6 % smaller; the filter for ARM64 is unknown to older decoders."""
    filters = [{"id": lzma.FILTER_X86}] if target.startswith("x86_64") else []
    filters.append({"id": lzma.FILTER_LZMA2, "preset": 0 if fast else 9 | lzma.PRESET_EXTREME})
    return lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=filters)


def gz(data, fast):
    """Data in gzip, without a name and a time."""
    return gzip.compress(data, compresslevel=1 if fast else 9, mtime=0)
