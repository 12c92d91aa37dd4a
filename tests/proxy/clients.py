"""The official packages as clients of tau proxy."""

import os

import anthropic
import openai

url, token = os.environ["TAU_URL"], os.environ["TAU_TOKEN"]
schema = {"type": "object", "properties": {"path": {"type": "string"}}}

client = openai.OpenAI(base_url=url + "/v1", api_key=token)
assert "own/m" in [model.id for model in client.models.list()]
assert client.models.retrieve("own/m").owned_by == "own"
tools = [{"type": "function", "function": {"name": "read", "parameters": schema}}]
ask = [{"role": "user", "content": "Look."}]

answer = client.chat.completions.create(model="own/m", messages=ask, tools=tools)
call = answer.choices[0].message.tool_calls[0]
assert answer.choices[0].message.content == "I look at it."
assert (call.id, call.function.name, call.function.arguments) == ("c1", "read", '{"path":"a"}')
with client.chat.completions.stream(model="own/m", messages=ask, tools=tools) as stream:
    final = stream.get_final_completion()
assert final.choices[0].finish_reason == "tool_calls"
assert final.choices[0].message.tool_calls[0].function.arguments == '{"path":"a"}'
history = ask + [
    {"role": "assistant", "content": "I look at it.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "text of a"},
]
client.chat.completions.create(model="own/m", messages=history, tools=tools)

flat = [{"type": "function", "name": "read", "parameters": schema, "strict": False}]
answer = client.responses.create(model="own/m", input="Look.", tools=flat)
assert answer.output_text == "I look at it.", answer
assert [item.type for item in answer.output] == ["reasoning", "message", "function_call"]
with client.responses.stream(model="own/m", input="Look.", tools=flat) as stream:
    deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
    final = stream.get_final_response()
assert "".join(deltas) == "I look at it."
assert final.output[2].arguments == '{"path":"a"}', final
again = [{"role": "user", "content": "Look."}] + [item.to_dict() for item in answer.output]
again += [{"type": "function_call_output", "call_id": "c1", "output": "text of a"}]
client.responses.create(model="own/m", input=again, tools=flat)

try:
    client.chat.completions.create(model="own/none", messages=ask)
    raise SystemExit("a model that is not there was used")
except openai.NotFoundError as error:
    assert "GET /v1/models" in str(error), error

client = anthropic.Anthropic(base_url=url, api_key=token)
assert "own/m" in [model.id for model in client.models.list()]
tools = [{"name": "read", "input_schema": schema}]
answer = client.messages.create(model="own/m", max_tokens=100, messages=ask, tools=tools)
assert [block.type for block in answer.content] == ["thinking", "text", "tool_use"], answer
assert answer.content[2].input == {"path": "a"} and answer.stop_reason == "tool_use"
with client.messages.stream(model="own/m", max_tokens=100, messages=ask, tools=tools) as stream:
    said = "".join(stream.text_stream)
    final = stream.get_final_message()
assert said == "I look at it." and final.content[2].input == {"path": "a"}, final
assert final.usage.input_tokens == 6 and final.usage.cache_read_input_tokens == 4, final.usage
result = {"type": "tool_result", "tool_use_id": "c1", "content": "text of a"}
again = ask + [{"role": "assistant", "content": final.content}, {"role": "user", "content": [result]}]
client.messages.create(model="own/m", max_tokens=100, messages=again, tools=tools)

try:
    anthropic.Anthropic(base_url=url, api_key="wrong").messages.create(
        model="own/m", max_tokens=1, messages=ask)
    raise SystemExit("a wrong token was accepted")
except anthropic.AuthenticationError:
    pass
print("all right")
