#!/usr/bin/env python3
"""Makes what is about all platforms of a release, from the files in a folder: the npm package that depends on those of
the platforms, install.sh, release.json (which `tau update` reads), the Homebrew formula, the PKGBUILD, SHA256SUMS.

Run it again when files of more platforms were added. `build.sh` calls this.
"""

import argparse
import json
import pathlib
import re

import common
from common import SUMMARY, Tree, gz, left_out, made

HERE = pathlib.Path(__file__).parent


def archives(out, version):
    """The .tar.xz of each platform that is there."""
    named = {target: out / f"taucode-{version}-{target}.tar.xz" for target in common.PLATFORMS}
    return {target: path for target, path in named.items() if path.exists()}


def npm(out, version):
    """A small package: a launcher, and one optional package a platform. Nothing is run or fetched at install."""
    platforms = [one for one in common.PLATFORMS.values() if (out / f"taucode-{one.npm}-{version}.tgz").exists()]
    if not platforms:
        return left_out("npm package", "no platform's package is there")
    tree = Tree()
    tree.add("package/bin/tau.js", (HERE / "tau.js").read_bytes(), 0o755)
    tree.add("package/README.md", (common.ROOT / "README.md").read_bytes())
    tree.add("package/LICENSE", (common.ROOT / "LICENSE").read_bytes())
    facts = {
        "name": "taucode",
        "version": version,
        "description": SUMMARY,
        "license": "MIT",
        "bin": {"tau": "bin/tau.js", "taucode": "bin/tau.js"},
        "files": ["bin"],
        "engines": {"node": ">=16"},
        "optionalDependencies": {f"taucode-{one.npm}": version for one in platforms},
    }
    tree.add("package/package.json", json.dumps(facts, indent=2) + "\n")
    path = out / f"taucode-{version}.tgz"
    path.write_bytes(gz(tree.tar(), False))
    return made(path)


def filled(template, values):
    """A template with its @NAMES@ replaced; each must be known."""
    return re.sub(r"@([A-Z0-9_]+)@", lambda found: values[found.group(1)], (HERE / template).read_text())


def install_script(out, address):
    """install.sh, which knows the address if there is one."""
    path = out / "install.sh"
    path.write_text(filled("install.sh", {"ADDRESS": address}))
    path.chmod(0o755)
    made(path)


def for_managers(out, version, address, found):
    """The Homebrew formula and the PKGBUILD, which name the address and the hashes."""
    values = {"VERSION": version, "ADDRESS": address, "SUMMARY": SUMMARY}
    targets = {target.upper().replace("-", "_"): target for target in common.PLATFORMS}
    for name, target in targets.items():
        if target in found:
            values[name] = common.sha256(found[target])
    for template, name in (("taucode.rb.in", "taucode.rb"), ("PKGBUILD.in", "PKGBUILD")):
        needed = set(re.findall(r"@([A-Z0-9_]+)@", (HERE / template).read_text()))
        missing = sorted(targets[name] for name in needed - set(values))
        # That of an earlier run is of another release.
        (out / name).unlink(missing_ok=True)
        if not address:
            left_out(name, "no --address")
        elif missing:
            left_out(name, f"no archive for {', '.join(missing)}")
        else:
            (out / name).write_text(filled(template, values))
            made(out / name)


def is_of(name, version):
    """Whether a file belongs to the release of this version; there may be files of others beside it."""
    ending = r"(\.tgz|-1\.[a-z0-9_]+\.rpm|_[a-z0-9]+\.deb|-py3-none-[a-z0-9_.]+\.whl)"
    targets, platforms = "|".join(common.PLATFORMS), "|".join(one.npm for one in common.PLATFORMS.values())
    archive = rf"-({targets})\.(tar\.xz|tar\.gz|sbom\.cdx\.json)"
    package = rf"taucode(-({platforms}))?[-_]{re.escape(version)}({ending}|{archive})"
    return name in ("install.sh", "release.json", "taucode.rb", "PKGBUILD") or re.fullmatch(package, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--address", default="")
    arguments = parser.parse_args()
    out, version = pathlib.Path(arguments.out), common.version()
    address = arguments.address.rstrip("/")
    found = archives(out, version)
    npm(out, version)
    install_script(out, address)
    for_managers(out, version, address, found)
    files = {
        target: {"name": path.name, "size": path.stat().st_size, "sha256": common.sha256(path)}
        for target, path in found.items()
    }
    release = out / "release.json"
    release.write_text(json.dumps({"version": version, "files": files}, indent=1) + "\n")
    made(release)
    sums = out / "SHA256SUMS"
    others = sorted(path for path in out.iterdir() if path.is_file() and is_of(path.name, version))
    sums.write_text("".join(f"{common.sha256(path)}  {path.name}\n" for path in others))
    made(sums)


if __name__ == "__main__":
    main()
