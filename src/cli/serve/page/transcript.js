// The messages of a session as nodes: whole ones of the history, and those that stream in.

import { show } from "/page/markdown.js";
import { element, output, picture, textOf, visible } from "/page/text.js";

/** A change of a file. `choose` gets a checkbox for each hunk. */
export function diff(change, choose, shown = visible) {
  const hunks = change.hunks.map((hunk, at) => {
    let [before, after] = [hunk.oldStart, hunk.newStart];
    const lines = hunk.lines.map((line) => {
      const kind = { "+": "added", "-": "removed" }[line[0]] || "same";
      const number = kind === "removed" ? before : after;
      if (kind !== "added") before++;
      if (kind !== "removed") after++;
      const mark = { added: "+", removed: "−", same: " " }[kind];
      return element("div", { class: `line ${kind}` }, element("span", { class: "number" }, String(number)), element("span", { class: "mark" }, mark), element("span", {}, shown(line.slice(1)) || " "));
    });
    const name = `@@ line ${hunk.newStart}`;
    const box = choose && element("input", { type: "checkbox", checked: true });
    if (box) choose(at, box);
    const head = box ? element("label", { class: "hunk" }, box, name) : element("div", { class: "hunk" }, name);
    return [head, element("div", { class: "lines" }, lines)];
  });
  return element("div", { class: "diff", tabindex: 0, role: "group", "aria-label": `Change of ${shown(change.path)}` }, hunks, change.cut && element("p", { class: "note" }, "the change is larger than what is shown"));
}

/** How a call without an exit code failed: one that has not run to its end says so at its beginning. */
const failure = (result) => /^(interrupted|not run): /.exec(textOf(result.content))?.[1] || "failed";

/** The panel of a tool call. */
class Panel {
  constructor(id, name) {
    this.id = id;
    this.tool = element("span", { class: "tool" }, visible(name));
    this.what = element("span", { class: "what" });
    this.outcome = element("span", { class: "outcome" }, "waiting");
    this.body = element("div", {});
    this.node = element("details", { class: "panel", "data-call": id }, element("summary", {}, this.tool, this.what, this.outcome), this.body);
  }

  args(args) {
    this.command = typeof args?.command === "string" ? args.command : null;
    if (!this.body.childElementCount && this.command) this.body.append(element("pre", {}, visible(this.command)));
  }

  /** The title as the screen shows it. */
  title(text) {
    this.what.textContent = visible(text.split("\n")[0]);
  }

  /** Shows a state, unless the call has ended. */
  state(text) {
    if (!this.ended) this.outcome.textContent = text;
  }

  result(result, isError, duration) {
    const details = result.details || {};
    const nodes = [];
    if (this.command && this.command.includes("\n")) nodes.push(element("pre", {}, visible(this.command)));
    if (details.kind === "diff") nodes.push(diff(details));
    else {
      const text = details.kind === "terminal" ? details.text : details.kind === "paths" ? details.paths.join("\n") : details.kind === "text" ? details.text : textOf(result.content);
      nodes.push(element("pre", { tabindex: 0 }, output(text) || "no output"));
    }
    for (const block of result.content || []) if (block.type === "image") nodes.push(picture(block));
    if (isError && details.kind === "diff") nodes.push(element("pre", {}, output(textOf(result.content))));
    this.body.replaceChildren(...nodes);
    if (isError === null) return;
    this.ended = true;
    const code = details.exitCode;
    const seconds = duration >= 500 ? `, ${(duration / 1000).toFixed(1)} s` : "";
    const changed = details.kind === "diff" ? `+${details.added} −${details.removed}` : "done";
    this.outcome.textContent = (isError ? (code !== undefined && code !== null ? `exit ${code}` : failure(result)) : code ? `exit ${code}` : changed) + seconds;
    this.outcome.classList.toggle("bad", Boolean(isError));
    if (details.kind === "diff" || isError) this.node.open = true;
    // The reason of a failure is at the end.
    if (isError) requestAnimationFrame(() => this.node.querySelectorAll("pre").forEach((pre) => { pre.scrollTop = pre.scrollHeight; }));
  }
}

/** The last characters that are shown of the output of a command that runs. */
const SHOWN_OUTPUT = 65536;

/** A command of the user: its panel and its node. */
function userCommand(command) {
  const panel = new Panel("", "!");
  panel.args({ command });
  panel.title(command);
  return { panel, node: element("article", { class: "message user" }, element("h2", {}, "You ran"), panel.node) };
}

/** An answer of the model. */
class Answer {
  constructor(transcript) {
    this.transcript = transcript;
    this.parts = [];
    this.body = element("div", { class: "body" });
    this.node = element("article", { class: "message assistant" }, element("h2", {}, "tau"), this.body);
  }

  part(index, kind, make) {
    if (this.parts[index]?.kind === kind) return this.parts[index];
    const part = { kind, text: "", ...make() };
    this.parts[index]?.node.remove();
    this.parts[index] = part;
    const after = this.parts.slice(index + 1).find(Boolean);
    this.body.insertBefore(part.node, after ? after.node : null);
    return part;
  }

  text(index, text) {
    const part = this.part(index, "text", () => ({ node: element("div", { class: "markdown" }) }));
    part.text = text;
    this.transcript.later(part, () => show(part.node, part.text));
  }

  thinking(index, text) {
    const part = this.part(index, "thinking", () => {
      const body = element("div", { class: "body" });
      return { body, node: element("details", { class: "thinking" }, element("summary", {}, "Thinking"), body) };
    });
    part.text = text;
    this.transcript.later(part, () => { part.body.textContent = visible(part.text); });
  }

  call(index, id, name) {
    return this.part(index, "call", () => {
      const panel = this.transcript.panel(id, name);
      return { panel, node: panel.node };
    });
  }

  update(delta) {
    const at = delta.contentIndex;
    const before = this.parts[at]?.text || "";
    switch (delta.type) {
      case "text_start": return this.text(at, "");
      case "text_delta": return this.text(at, before + delta.delta);
      case "thinking_start": return this.thinking(at, "");
      case "thinking_delta": return this.thinking(at, before + delta.delta);
      case "toolcall_start": return void this.call(at, delta.id, delta.toolName);
      case "toolcall_end": return this.call(at, delta.toolCall.id, delta.toolCall.name).panel.args(delta.toolCall.arguments);
      default:
    }
  }

  whole(message) {
    message.content.forEach((block, at) => {
      if (block.type === "text") this.text(at, block.text);
      else if (block.type === "thinking" && block.thinking) this.thinking(at, block.thinking);
      else if (block.type === "toolCall") this.call(at, block.id, block.name).panel.args(block.arguments);
    });
    if (message.errorMessage && message.stopReason !== "aborted") this.body.append(element("p", { class: "failed" }, visible(message.errorMessage)));
    if (message.stopReason === "aborted") this.body.append(element("p", { class: "note" }, "stopped"));
    if (message.stopReason === "length") this.body.append(element("p", { class: "note" }, "the answer reached its largest length"));
  }
}

export class Transcript {
  constructor(parent) {
    this.parent = parent;
    this.clear();
  }

  clear() {
    this.parent.replaceChildren();
    this.panels = new Map();
    this.commands = new Map();
    this.shown = new Map();
    this.open = null;
    this.failed = null;
    this.waiting = new Map();
  }

  /** Draws a part at the next frame, once. */
  later(part, draw) {
    if (!this.waiting.size) requestAnimationFrame(() => this.draw());
    this.waiting.set(part, draw);
  }

  draw() {
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    waiting.forEach((draw) => draw());
    this.parent.dispatchEvent(new Event("drawn"));
  }

  panel(id, name) {
    if (!this.panels.has(id)) this.panels.set(id, new Panel(id, name));
    const panel = this.panels.get(id);
    if (name) panel.tool.textContent = visible(name);
    return panel;
  }

  /** Shows these titles, by the ids of the calls. */
  title(titles) {
    Object.entries(titles).forEach(([id, title]) => this.panel(id, "").title(title));
  }

  /** The node of a whole message; nothing for results, which go to their panels. */
  node(message) {
    switch (message.role) {
      case "user": {
        const pictures = Array.isArray(message.content) ? message.content.filter((block) => block.type === "image").map(picture) : [];
        return element("article", { class: "message user" }, element("h2", {}, "You"), element("div", { class: "body" }, visible(textOf(message.content)), pictures));
      }
      case "assistant": {
        const answer = new Answer(this);
        answer.whole(message);
        return answer.node;
      }
      case "toolResult":
        this.panel(message.toolCallId, message.toolName).result(message, message.isError, message.durationMs || 0);
        return null;
      case "bashExecution": {
        const { panel, node } = userCommand(message.command);
        panel.result({ details: { kind: "terminal", text: message.output, exitCode: message.exitCode } }, Boolean(message.exitCode), 0);
        return node;
      }
      case "compactionSummary":
      case "branchSummary": {
        const body = element("div", { class: "markdown" });
        show(body, message.summary || "");
        const title = message.role === "branchSummary" ? "Summary of an abandoned branch" : "The earlier conversation was summarized";
        return element("details", { class: "message note" }, element("summary", {}, title), body);
      }
      default:
        return message.display === false ? null : element("p", { class: "message note" }, visible(textOf(message.content)));
    }
  }

  static key(message) {
    return `${message.role} ${message.timestamp} ${message.toolCallId || ""}`;
  }

  /** Another attempt takes the place of an answer that failed. */
  replaceFailed(message) {
    if (message.role === "assistant" && this.failed) this.failed.remove();
    if (message.role === "assistant" || message.role === "user") this.failed = null;
  }

  /** A whole message at the end; once, however often it comes. */
  add(message) {
    const key = Transcript.key(message);
    if (!this.shown.has(key)) this.addNew(message, key);
    if (message.role === "assistant" && message.stopReason === "error") this.failed = this.shown.get(key);
  }

  addNew(message, key) {
    if (message.role === "assistant" && this.open) {
      this.open.body.replaceChildren();
      this.open.parts = [];
      this.open.whole(message);
      this.shown.set(key, this.open.node);
      this.open = null;
      return;
    }
    this.replaceFailed(message);
    const node = this.node(message);
    this.shown.set(key, node);
    if (node) this.parent.append(node);
  }

  /** Messages before all others. */
  prepend(messages) {
    const nodes = [];
    for (const message of messages) {
      const key = Transcript.key(message);
      if (this.shown.has(key)) continue;
      const node = this.node(message);
      this.shown.set(key, node);
      if (node) nodes.push(node);
    }
    this.parent.prepend(...nodes);
  }

  begin(message) {
    if (message.role !== "assistant" || this.shown.has(Transcript.key(message))) return;
    this.replaceFailed(message);
    this.open = new Answer(this);
    this.parent.append(this.open.node);
  }

  /** A command of the user runs. */
  beginCommand(id, text) {
    const command = { ...userCommand(text), output: "" };
    command.panel.state("running…");
    this.commands.set(id, command);
    this.parent.append(command.node);
  }

  addOutput(id, piece) {
    const command = this.commands.get(id);
    if (!command) return;
    command.output = (command.output + piece).slice(-SHOWN_OUTPUT);
    this.later(command, () => command.panel.result({ details: { kind: "terminal", text: command.output } }, null, 0));
  }

  /** A command of the user has ended; its place is now that of its message. */
  endCommand(id, message) {
    this.commands.get(id)?.node.remove();
    this.commands.delete(id);
    this.add({ role: "bashExecution", ...message });
  }

  note(text, failed) {
    this.parent.append(element("p", { class: failed ? "message failed" : "message note" }, visible(text)));
  }
}
