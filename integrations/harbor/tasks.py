"""Writes the tasks of `tau batch` as tasks of Harbor.

    python tasks.py tasks.jsonl folder [--image IMAGE]
    harbor run -p folder --agent tau_agent:Tau -m provider/model --agent-kwarg binary=/path/to/tau

Each line becomes a folder: the prompt is its instruction, a copy of the directory or a clone of the repository its
/work, and `check` its verifier, which gives the reward 1 or 0. The limits and the other fields are kept in
`environment/tau.json`, from which `tau_agent.py` makes flags.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

FIELDS = {
    "id", "prompt", "directory", "git", "ref", "model", "thinking", "permission_mode",
    "max_cost", "max_tokens", "max_turns", "timeout", "until", "check",
}  # fmt: skip
# Fields for the agent; the others become files.
OF_AGENT = FIELDS - {"id", "prompt", "directory", "git", "ref", "check"}
# Seconds of a check, as `tau batch` has it, and of the agent beyond the timeout of tau itself.
CHECK = 3600
GRACE = 60

# Without a check, a task is passed if tau has ended with the exit code 0.
ENDED_WELL = """tail -n 1 /logs/agent/tau.jsonl | grep -q '"exitCode": *0[,}]'"""
TEST = """#!/bin/sh
mkdir -p /logs/verifier
cd /work && sh /tests/check.sh
status=$?
[ $status = 0 ] && reward=1 || reward=0
echo $reward >/logs/verifier/reward.txt
"""


def read(path: Path) -> list[dict]:
    """The tasks of a file; exits with the line of the first that is none."""
    tasks, ids = [], set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            task = json.loads(line)
        except json.JSONDecodeError as error:
            sys.exit(f"{path}:{number}: {error}")
        fault = fault_of(task)
        if fault:
            sys.exit(f"{path}:{number}: {fault}")
        task.setdefault("id", f"task-{number}")
        if task["id"].lower() in ids:
            sys.exit(f"{path}:{number}: there is a task {task['id']} already")
        ids.add(task["id"].lower())
        tasks.append(task)
    return tasks


def fault_of(task: object) -> str | None:
    """What makes a task unusable."""
    if not isinstance(task, dict):
        return "it is no object"
    if unknown := sorted(set(task) - FIELDS):
        return f"unknown field {unknown[0]}"
    if not isinstance(task.get("prompt"), str) or not task["prompt"].strip():
        return "prompt is missing"
    if ("directory" in task) == ("git" in task):
        return "it needs either a directory or git"
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}", task.get("id", "x")):
        return "id: use letters, digits, `.`, `_` and `-`"
    if any(str(task.get(name, "")).startswith("-") for name in ("git", "ref")):
        return "git or ref begins with -"
    return None


def write(task: dict, base: Path, folder: Path, image: str) -> None:
    """Writes the folder of a task."""
    place = folder / task["id"]
    if place.exists():
        sys.exit(f"{place} exists: remove it, or name another folder")
    work = place / "environment/work"
    (place / "tests").mkdir(parents=True)
    work.parent.mkdir()
    if "git" in task:
        repository = task["git"]
        if "://" not in repository and (repository.startswith(".") or ":" not in repository):
            repository = str(base / repository)
        subprocess.run(["git", "clone", "--quiet", "--", repository, str(work)], check=True)
        if "ref" in task:
            subprocess.run(["git", "-C", str(work), "checkout", "--quiet", "--detach", task["ref"]], check=True)
    else:
        shutil.copytree(base / task["directory"], work, symlinks=True)
    (place / "instruction.md").write_text(task["prompt"])
    (place / "environment/Dockerfile").write_text(f"FROM {image}\nCOPY work /work\nWORKDIR /work\n")
    fields = {name: value for name, value in task.items() if name in OF_AGENT}
    (place / "environment/tau.json").write_text(json.dumps(fields) + "\n")
    (place / "tests/check.sh").write_text(task.get("check", ENDED_WELL) + "\n")
    (place / "tests/test.sh").write_text(TEST)
    (place / "tests/test.sh").chmod(0o755)
    agent = f"\n[agent]\ntimeout_sec = {float(task['timeout']) + GRACE}\n" if "timeout" in task else ""
    config = f'schema_version = "1.3"\n\n[environment]\nworkdir = "/work"\n\n[verifier]\ntimeout_sec = {CHECK}.0\n{agent}'
    (place / "task.toml").write_text(config)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the tasks of `tau batch` as tasks of Harbor.")
    parser.add_argument("tasks", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--image", default="debian:bookworm", help="what their containers are made from")
    arguments = parser.parse_args()
    tasks = read(arguments.tasks)
    for task in tasks:
        write(task, arguments.tasks.resolve().parent, arguments.folder, arguments.image)
    print(f"{len(tasks)} tasks in {arguments.folder}")


if __name__ == "__main__":
    main()
