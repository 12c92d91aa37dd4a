#!/usr/bin/env python3
"""A client of `tau --mode rpc`, standard library only.

    python3 examples/rpc_client.py tau --model demo

Asks one question and prints the answer as it comes. Ctrl-C stops the model, not the client: the
answer ends as aborted.
"""

import itertools
import json
import subprocess
import sys


class Agent:
    """An agent as a child process. Commands are numbered, so that answers can be told apart."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [*program, "--mode", "rpc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this program
        )
        self.numbers = itertools.count(1)

    def send(self, kind, **fields):
        number = str(next(self.numbers))
        self.process.stdin.write(json.dumps({"id": number, "type": kind, **fields}).encode() + b"\n")
        self.process.stdin.flush()
        return number

    def records(self):
        """Answers and events, in the order in which they were written.

        Lines of bytes end with LF and with nothing else, as records do.
        """
        for line in self.process.stdout:
            yield json.loads(line)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def ask(agent, question):
    number = agent.send("prompt", message=question)
    records = agent.records()
    while True:
        try:
            for record in records:
                kind = record["type"]
                if kind == "response" and record.get("id") == number and not record["success"]:
                    raise SystemExit("refused: " + record["error"])
                if kind == "message_update" and record["assistantMessageEvent"]["type"] == "text_delta":
                    print(record["assistantMessageEvent"]["delta"], end="", flush=True)
                elif kind == "tool_execution_start":
                    print(f"\n[{record['toolName']} {json.dumps(record['args'])}]")
                elif kind == "agent_settled":
                    return print()
            return print("the agent has ended")
        except KeyboardInterrupt:
            agent.send("abort")
            records = agent.records()


if __name__ == "__main__":
    tau = Agent(sys.argv[1:] or ["tau"])
    try:
        ask(tau, "What is in this directory?")
    finally:
        tau.close()
