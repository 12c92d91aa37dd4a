"""The crates in the program: a bill of materials (CycloneDX 1.5), and the texts of their licences."""

import json
import pathlib
import re
import urllib.parse
import uuid

import common

# Files of a crate that hold a licence or what it asks to be repeated.
TEXTS = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright|authors$)", re.I)


def read(target):
    """The packages of the program on this platform, and what each of them needs: without what only tests need."""
    metadata = json.loads(
        common.output(
            "cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target, cwd=common.ROOT
        )
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    needs, waiting = {}, [metadata["resolve"]["root"]]
    while waiting:
        package = waiting.pop()
        if package not in needs:
            deps = nodes[package]["deps"]
            needs[package] = [dep["pkg"] for dep in deps if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
            waiting.extend(needs[package])
    return metadata["resolve"]["root"], {key: packages[key] for key in needs}, needs


def checksums():
    """The SHA-256 of each crate in Cargo.lock."""
    text = (common.ROOT / "Cargo.lock").read_text()
    found = re.findall(
        r'^name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"', text, re.M
    )
    return {(name, version): checksum for name, version, checksum in found}


def purl(package):
    return f"pkg:cargo/{package['name']}@{urllib.parse.quote(package['version'])}"


def sbom(target, binary_sha256):
    """The bill of materials as JSON."""
    root, packages, needs = read(target)
    known = checksums()

    def component(package):
        entry = {
            "type": "library",
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(package),
        }
        if package["description"]:
            entry["description"] = " ".join(package["description"].split())
        if package["license"]:
            # Old crates write MIT/Apache-2.0 for a choice.
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        checksum = known.get((package["name"], package["version"]))
        if checksum:
            entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return entry

    program = {
        **component(packages[root]),
        "type": "application",
        "hashes": [{"alg": "SHA-256", "content": binary_sha256}],
        "properties": [{"name": "cdx:rust:target", "value": target}],
    }
    components = sorted(
        (component(package) for key, package in packages.items() if key != root), key=lambda one: one["purl"]
    )
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{target}/{binary_sha256}')}",
        "version": 1,
        "metadata": {"component": program},
        "components": components,
        "dependencies": [
            {"ref": purl(packages[key]), "dependsOn": sorted({purl(packages[dep]) for dep in deps})}
            for key, deps in sorted(needs.items(), key=lambda item: purl(packages[item[0]]))
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def licences(target):
    """The licences of all crates as one text: each text once, below the names of those that have it."""
    _, packages, _ = read(target)
    users, without = {}, []
    for package in sorted(packages.values(), key=lambda one: (one["name"], one["version"])):
        if package["source"] is None:
            continue
        folder = pathlib.Path(package["manifest_path"]).parent
        name = f"{package['name']} {package['version']} ({package['license'] or 'see below'})"
        files = [
            file
            for file in sorted(folder.iterdir())
            if file.is_file() and TEXTS.search(file.name) and not file.suffix == ".rs"
        ]
        texts = {"\n".join(file.read_text(errors="replace").split("\r\n")).strip() for file in files}
        for text in texts:
            users.setdefault(text, []).append(name)
        if not texts:
            by = ", ".join(package["authors"]) or package["repository"] or "its authors"
            without.append(f"{name}, by {by}")
    parts = ["tau contains the following crates. tau itself is under the MIT licence, see LICENSE.\n"]
    for text, names in sorted(users.items(), key=lambda item: item[1]):
        parts.append("-" * 100 + "\n" + "\n".join(names) + "\n\n" + text + "\n")
    if without:
        parts.append(
            "-" * 100
            + "\nThese crates are published without a file that holds their licence:\n"
            + "\n".join(without)
            + "\n"
        )
    return "\n".join(parts)
