"""The adapter against the published package, a real tau and a scripted model server on loopback.

    pip install harbor && TAU_BINARY=/path/to/tau python -m unittest -v
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.agent.context import AgentContext

import tasks
import tau_agent
from tau_agent import Tau


def chunk(delta, finish=None, **more):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def call(command):
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    return [
        chunk({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}),
        chunk({}, "tool_calls"),
    ]


def say(text):
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    return [chunk({"content": text}), chunk({}, "stop"), {"choices": [], "usage": usage}]


class Model(BaseHTTPRequestHandler):
    """Answers each request with the next script."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.requests.append(json.loads(body))
        asks = "write it" in str(self.server.requests[-1]) and "tool_calls" not in str(self.server.requests[-1])
        if self.server.by_task and asks:
            self.server.scripts = [call("echo done >out")]
        script = self.server.scripts.pop(0) if self.server.scripts else say("done")
        if isinstance(script, int):
            self.send_response(script)
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in script:
            self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


class Here:
    """An environment that is this machine; what is uploaded goes to a folder of the test."""

    default_user = None

    def __init__(self, folder: Path, program: str):
        self.folder = folder
        self.program = program

    def translate(self, text: str) -> str:
        return text.replace(tau_agent.PROGRAM, self.program)

    async def upload_file(self, source_path, target_path):
        assert str(target_path) == tau_agent.PROGRAM
        Path(self.program).unlink(missing_ok=True)
        os.link(source_path, self.program)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None, **_):
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.folder), **(env or {})}
        done = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", self.translate(command)],
            cwd=self.folder / "work",
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)


class Machine(BaseEnvironment):
    """An environment of Harbor that is this machine: the folders of a container are in one of its own."""

    FOLDERS = ("/logs", "/tests", "/work", tau_agent.PROGRAM)

    @staticmethod
    def type() -> str:
        return "machine"

    @property
    def capabilities(self):
        return EnvironmentCapabilities()

    def _validate_definition(self):
        assert (self.environment_dir / "Dockerfile").is_file()

    async def start(self, force_build: bool) -> None:
        self.root = Path(tempfile.mkdtemp(dir=os.environ["TAU_TEST_ROOT"]))
        for folder in ("logs/agent", "logs/verifier", "logs/artifacts", "tests", "usr/local/bin"):
            (self.root / folder).mkdir(parents=True)
        # What its Dockerfile does.
        shutil.copytree(self.environment_dir / "work", self.root / "work", symlinks=True)

    async def stop(self, delete: bool):
        pass

    def inside(self, text: str) -> str:
        for folder in self.FOLDERS:
            text = re.sub(rf"(?<![\w/.]){re.escape(folder)}(?![\w-])", f"{self.root}{folder}", text)
        return text

    async def upload_file(self, source_path, target_path):
        target = Path(self.inside(str(target_path)))
        target.parent.mkdir(parents=True, exist_ok=True)
        if str(target_path) == tau_agent.PROGRAM:
            os.link(source_path, target)
            return
        shutil.copy(source_path, target)
        if target.suffix == ".sh":
            target.write_text(self.inside(target.read_text()))

    async def upload_dir(self, source_dir, target_dir):
        for path in Path(source_dir).rglob("*"):
            if path.is_file():
                await self.upload_file(path, f"{target_dir}/{path.relative_to(source_dir)}")

    async def download_file(self, source_path, target_path):
        shutil.copy(self.inside(str(source_path)), target_path)

    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self.inside(str(source_dir)), target_dir, dirs_exist_ok=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None, **_):
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.root), **(env or {})}
        done = await asyncio.to_thread(
            subprocess.run,
            ["bash", "-c", self.inside(command)],
            cwd=self.root / "work",
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return ExecResult(stdout=done.stdout, stderr=done.stderr, return_code=done.returncode)


class Adapter(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TAU_TEST_DIR"))
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "work").mkdir()
        self.logs = self.folder / "logs"
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
        self.server.requests, self.server.scripts, self.server.by_task = [], [], False
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.environment = Here(self.folder, str(self.folder / "tau"))

    def agent(self, **more):
        url = f"http://127.0.0.1:{self.server.server_port}"
        arguments = f"--base-url {url} --api openai-completions --api-key x"
        agent = Tau(logs_dir=self.logs, model_name="m", arguments=arguments, **more)
        agent.environment_logs_dir = PurePosixPath(self.logs)
        return agent

    def run_task(self, instruction, *scripts):
        self.server.scripts = list(scripts)
        agent, context = self.agent(), AgentContext()
        error = None

        async def task():
            await agent.setup(self.environment)
            await agent.run(instruction, self.environment, context)

        try:
            asyncio.run(task())
        except Exception as raised:  # what Harbor would record
            error = raised
        return agent, context, error

    def test_a_task_is_done_and_its_tokens_are_known(self):
        agent, context, error = self.run_task(
            "--write 'done' to a file; it's $HOME", call("echo done >out"), say("written")
        )
        self.assertIsNone(error)
        self.assertEqual((self.folder / "work/out").read_text(), "done\n")
        prompt = self.server.requests[0]["messages"][-1]["content"]
        self.assertIn("--write 'done' to a file; it's $HOME", str(prompt))
        self.assertEqual((context.n_input_tokens, context.n_output_tokens), (100, 7))
        self.assertIsNone(context.cost_usd, "the price of this model is not known")
        self.assertEqual(context.metadata["reason"], "done")
        self.assertRegex(agent.version(), r"^\d+\.\d+\.\d+")
        self.assertTrue(list((self.logs / "sessions").glob("*.jsonl")))

    def test_a_failure_is_an_error_of_the_trial_with_its_reason(self):
        _, context, error = self.run_task("go", 401)
        self.assertIsNotNone(error)
        self.assertEqual((context.metadata["reason"], context.metadata["exit_code"]), ("model error", 1))

    def test_without_a_program_the_setup_says_what_to_do(self):
        agent = self.agent(binary="/nowhere")
        with self.assertRaisesRegex(ValueError, "TAU_BINARY"):
            asyncio.run(agent.install(self.environment))

    def test_harbor_runs_the_tasks_of_a_batch(self):
        base = self.folder / "batch"
        (base / "here").mkdir(parents=True)
        (base / "here/name").write_text("here\n")
        lines = [
            {"id": "good", "prompt": "write it", "directory": "here", "check": "grep -q here name && test -e out",
             "max_turns": 9},
            {"id": "bad", "prompt": "write it", "directory": "here", "check": "exit 7"},
            {"prompt": "say it", "directory": "here"},
        ]  # fmt: skip
        (base / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        here = Path(__file__).parent
        write = [sys.executable, str(here / "tasks.py"), str(base / "tasks.jsonl"), str(base / "harbor")]
        subprocess.run(write, check=True, stdout=subprocess.DEVNULL)
        # A model that writes a file in each task that asks for it, whichever comes first.
        self.server.by_task = True
        url = f"http://127.0.0.1:{self.server.server_port}"
        root = self.folder / "containers"
        root.mkdir()
        harbor = [str(Path(sys.executable).parent / "harbor"), "run", "--yes", "-p", str(base / "harbor")]
        harbor += ["--agent", "tau_agent:Tau", "-m", "m", "--env", "test_tau_agent:Machine"]
        harbor += ["--jobs-dir", str(self.folder / "jobs"), "--job-name", "one", "-n", "2"]
        harbor += ["--agent-kwarg", f"binary={os.environ['TAU_BINARY']}", "--agent-kwarg"]
        harbor += [f"arguments=--base-url {url} --api openai-completions --api-key x"]
        variables = {**os.environ, "PYTHONPATH": str(here), "TAU_TEST_ROOT": str(root), "HOME": str(self.folder)}
        done = subprocess.run(harbor, env=variables, cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rewards = {}
        for path in (self.folder / "jobs/one").glob("*/result.json"):
            result = json.loads(path.read_text())
            rewards[result["task_name"].rpartition("/")[2]] = (result["verifier_result"] or {}).get("rewards")
        self.assertEqual(rewards, {"good": {"reward": 1.0}, "bad": {"reward": 0.0}, "task-3": {"reward": 1.0}})

    def test_the_fields_of_a_task_become_flags_but_not_all_flags_do(self):
        agent = self.agent()
        agent._arguments += ["--max-cost", "1"]
        task = {"max_cost": 2, "until": "make it", "model": "a/b", "base_url": "http://x", "timeout": 5}
        command = agent.command("go", task)
        for part in ("--model=a/b", "'--until=make it'", "--timeout=5", "--max-cost 1"):
            self.assertIn(part, command)
        self.assertNotIn("http://x", command)
        self.assertNotIn("--max-cost=2", command)

    def test_a_line_that_is_no_task_is_named(self):
        for line, fault in [
            ({"prompt": "x"}, "tasks.jsonl:1: it needs either a directory or git"),
            ({"prompt": "x", "directory": ".", "chekc": "x"}, "unknown field chekc"),
            ({"id": "../x", "prompt": "x", "directory": "."}, "id: use"),
            ({"prompt": "x", "git": "--upload-pack=x"}, "begins with -"),
        ]:
            (self.folder / "tasks.jsonl").write_text(json.dumps(line))
            with self.assertRaisesRegex(SystemExit, fault):
                tasks.read(self.folder / "tasks.jsonl")

    def test_a_file_without_an_end_gives_no_tokens(self):
        path = self.folder / "records"
        path.write_text('{"type":"session"}\n{"type":"en')
        self.assertIsNone(tau_agent.last_record(path))
        self.assertIsNone(tau_agent.last_record(self.folder / "none"))


if __name__ == "__main__":
    unittest.main()
