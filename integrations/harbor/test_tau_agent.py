"""The adapter against the published package, a real tau and a scripted model server on loopback.

    pip install harbor && TAU_BINARY=/path/to/tau python -m unittest -v
"""

import asyncio
import json
import os
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

from harbor.environments.base import ExecResult
from harbor.models.agent.context import AgentContext

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


class Adapter(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("TAU_TEST_DIR"))
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "work").mkdir()
        self.logs = self.folder / "logs"
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
        self.server.requests, self.server.scripts = [], []
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

    def test_a_file_without_an_end_gives_no_tokens(self):
        path = self.folder / "records"
        path.write_text('{"type":"session"}\n{"type":"en')
        self.assertIsNone(tau_agent.last_record(path))
        self.assertIsNone(tau_agent.last_record(self.folder / "none"))


if __name__ == "__main__":
    unittest.main()
