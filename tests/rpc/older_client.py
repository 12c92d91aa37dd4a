"""A client of the older document: it numbers nothing and listens to events only.

Standard library, as the document's own example is written. Arguments: the program and its flags.
Every expectation is an assertion; the last line says that all of them held.
"""

import json
import subprocess
import sys

agent = subprocess.Popen(
    sys.argv[1:] + ["--mode", "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
)


def send(command):
    json.dump(command, agent.stdin)
    agent.stdin.write("\n")
    agent.stdin.flush()


def listen(until):
    """Events up to the first of that type; what answers commands is passed over, as unknown."""
    events = []
    for line in agent.stdout:
        event = json.loads(line)
        if event["type"] == "response":
            continue
        events.append(event)
        if event["type"] == until:
            return events
    raise AssertionError(f"no {until}: {events}")


# A prompt: the text comes in pieces, and each piece carries the message so far.
send({"type": "prompt", "message": "hello"})
events = listen("agent_end")
assert events[0]["type"] == "agent_start", events[0]
spoken = ""
for event in events:
    if event["type"] == "message_update":
        update = event["assistantMessageEvent"]
        assert event["message"] == update["partial"], event
        if update["type"] == "text_delta":
            spoken += update["delta"]
            assert event["message"]["content"][-1]["text"] == spoken, event
assert spoken == "one two three", spoken
answer = events[-1]["messages"][-1]
assert answer["role"] == "assistant" and answer["stopReason"] == "stop", answer

# The document's clients prompt again as soon as they hear of the end.
send({"type": "prompt", "message": "use a tool"})
events = listen("agent_end")
start = next(event for event in events if event["type"] == "tool_execution_start")
end = next(event for event in events if event["type"] == "tool_execution_end")
assert start["toolName"] == "bash" and start["args"] == {"command": "echo from the tool"}, start
result = end["result"] if isinstance(end["result"], str) else end["result"]["content"][0]["text"]
assert "from the tool" in result and end["isError"] is False, end

# A command of the user's ends with its message, whose code is there or null.
send({"type": "bash", "command": "echo shell; exit 3"})
message = listen("bash_end")[-1]["message"]
assert (message["role"], message["output"], message["exitCode"]) == ("bashExecution", "shell\n", 3), message
send({"type": "bash", "command": "sleep 60"})
send({"type": "abort_bash"})
message = listen("bash_end")[-1]["message"]
assert message["exitCode"] is None and message["cancelled"] is True, message

# An abort ends the run as any run ends.
send({"type": "prompt", "message": "stall"})
listen("message_update")
send({"type": "abort"})
answer = listen("agent_end")[-1]["messages"][-1]
assert answer["stopReason"] == "aborted", answer

# Attachments, and a compaction that is told as an event of its own.
document = {
    "id": "1", "type": "document", "fileName": "notes.txt", "mimeType": "text/plain", "size": 4,
    "content": "bm90ZQ==", "extractedText": "note",
}
send({"type": "prompt", "message": "read this", "attachments": [document]})
listen("agent_end")
send({"type": "compact", "customInstructions": "be short"})
summary = listen("compaction")[-1]
assert "in short" in summary["summary"] and summary["tokensBefore"] > 0 and "auto" not in summary, summary

# What goes wrong is an event.
send({"type": "no such command"})
assert "no such command" in listen("error")[-1]["error"]
agent.stdin.write("{nonsense\n")
agent.stdin.flush()
assert listen("error")[-1]["error"]

agent.stdin.close()
assert agent.wait(10) == 0, agent.returncode
print("all of it held")
