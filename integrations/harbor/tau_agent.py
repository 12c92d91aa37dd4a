"""tau as an agent of Harbor, the harness of Terminal-Bench.

    harbor run -d terminal-bench@2.0 --agent tau_agent:Tau -m anthropic/claude-sonnet-5-5 \\
        --agent-kwarg binary=/path/to/tau

The binary is copied into the container of each task, so it should be linked statically (target
x86_64-unknown-linux-musl) unless the images have the C library it was built with. tau runs in JSON mode; its
records are kept in the agent's logs, and the last one fills in the tokens and the price of the trial.
"""

import json
import os
import shlex
from pathlib import Path
from typing import Any, override

from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

try:
    from harbor.agents.agent_auth_resolution import ModelConnectionSpec

    CONNECTION = ModelConnectionSpec()
except ImportError:  # Harbor before 0.25 passes the provider's variables on only if it is told to
    from harbor.agents.model_connection import ModelConnectionSpec

    CONNECTION = ModelConnectionSpec(passthrough=True)

RECORDS = "tau.jsonl"
ERRORS = "tau.stderr.txt"
PROGRAM = "/usr/local/bin/tau"
# The fields of a task that `tasks.py` keeps beside its Dockerfile, each of which is a flag of tau. Not all flags are:
# a task of somebody else must not choose where keys are sent.
FIELDS = (
    "thinking",
    "permission_mode",
    "max_cost",
    "max_tokens",
    "max_turns",
    "timeout",
    "until",
)


class Tau(BaseInstalledAgent):
    """Runs `tau --json` once for each task."""

    MODEL_CONNECTION = CONNECTION

    def __init__(
        self,
        *args: Any,
        binary: str | None = None,
        arguments: str = "",
        **kwargs: Any,
    ) -> None:
        """`binary`: the program on this machine (default: $TAU_BINARY). `arguments`: further arguments of
        tau, such as `--thinking high --max-cost 2`."""
        super().__init__(*args, **kwargs)
        self._binary = binary or os.environ.get("TAU_BINARY")
        self._arguments = shlex.split(arguments)

    @staticmethod
    @override
    def name() -> str:
        return "tau"

    @override
    def get_version_command(self) -> str | None:
        return f"{PROGRAM} --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.strip().removeprefix("tau").strip()

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        if not self._binary or not Path(self._binary).is_file():
            raise ValueError(
                "no tau to install: pass --agent-kwarg binary=PATH, or set TAU_BINARY to a built program"
            )
        await environment.upload_file(self._binary, PROGRAM)
        await self.exec_as_root(
            environment, command=f"chmod 755 {PROGRAM} && {PROGRAM} --version"
        )

    def command(self, instruction: str, task: dict[str, Any] | None = None) -> str:
        """The command of a task, with its fields if it comes from `tasks.py`."""
        task = task or {}
        model = task.get("model") or self.model_name
        if not model:
            raise ValueError("tau needs a model: pass -m provider/model")
        logs = self.environment_logs_dir
        named = {f"--{name.replace('_', '-')}": task[name] for name in FIELDS if name in task}
        # What the person who runs Harbor says counts more.
        given = {argument.partition("=")[0] for argument in self._arguments}
        flags = [f"{name}={value}" for name, value in named.items() if name not in given]
        words = [PROGRAM, "--json", f"--model={model}", *self._arguments, *flags]
        # The container is the sandbox. `--` ends the flags, whatever the task begins with; an @ at its
        # beginning would name a file.
        prompt = f" {instruction}" if instruction.startswith("@") else instruction
        command = shlex.join([*words, "--", prompt])
        records, errors = (shlex.quote(str(logs / name)) for name in (RECORDS, ERRORS))
        sessions = shlex.quote(str(logs / "sessions"))
        return (
            f"mkdir -p {shlex.quote(str(logs))} && "
            f"TAU_SESSION_DIR={sessions} {command} </dev/null >{records} 2> >(tee {errors} >&2)"
        )

    @override
    @with_prompt_template
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        try:
            await self.exec_as_agent(
                environment,
                command=self.command(instruction, fields(environment)),
                env=dict(self.model_connection.env),
            )
        finally:
            self.populate_context_post_run(context)

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        end = last_record(self.logs_dir / RECORDS)
        if end is None:
            return
        usage = end.get("usage") or {}
        cached = usage.get("cacheRead", 0)
        context.n_input_tokens = usage.get("input", 0) + cached + usage.get("cacheWrite", 0)
        context.n_cache_tokens = cached
        context.n_output_tokens = usage.get("output", 0)
        # Null where a price is not known, which is not the same as nothing.
        context.cost_usd = end.get("cost")
        context.metadata = {
            "reason": end.get("reason"),
            "exit_code": end.get("exitCode"),
            "error": end.get("error"),
        }


def fields(environment: BaseEnvironment) -> dict[str, Any]:
    """The fields of a task from `tasks.py`; none for other tasks."""
    try:
        text = (Path(environment.environment_dir) / "tau.json").read_text(encoding="utf-8")
    except (AttributeError, OSError):
        return {}
    found = json.loads(text)
    return found if isinstance(found, dict) else {}


def last_record(path: Path) -> dict[str, Any] | None:
    """The record that says how tau ended; `None` if it was killed before it could write one."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict) and record.get("type") == "end":
            return record
    return None
