// A VS Code extension that speaks the RPC mode of tau, in one file. It starts one agent for the
// window, asks it about the selected text and shows what it says in an output channel. README.md
// says how to build and install it.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import * as vscode from "vscode";

type Json = Record<string, any>;

/** An agent as a child process: numbered commands, their answers, and events. */
class Agent {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<string, (answer: Json) => void>();
  private number = 0;
  private rest = "";

  constructor(
    program: string,
    args: string[],
    cwd: string | undefined,
    hear: (event: Json) => void,
    ended: (why: string) => void,
  ) {
    this.child = spawn(program, ["--mode", "rpc", ...args], { cwd });
    this.child.stdout.setEncoding("utf8");
    this.child.stdout.on("data", (piece: string) => {
      // Records end with LF and with nothing else; a record may come in any number of pieces.
      const lines = (this.rest + piece).split("\n");
      this.rest = lines.pop() ?? "";
      for (const line of lines) this.take(JSON.parse(line), hear);
    });
    let complaint = "";
    this.child.stderr.on("data", (piece) => (complaint = (complaint + piece).slice(-2000)));
    this.child.stdin.on("error", () => {});
    const end = (why: string) => {
      for (const answer of this.waiting.values()) answer({ success: false, error: why });
      this.waiting.clear();
      ended(why);
    };
    this.child.on("error", (error) => end(`${program} cannot be started: ${error.message}`));
    this.child.on("exit", (code) => end(complaint.trim() || `tau ended with code ${code}`));
  }

  /** Sends a command; its answer. */
  ask(type: string, fields: Json = {}): Promise<Json> {
    const id = String(++this.number);
    return new Promise((answer) => {
      this.waiting.set(id, answer);
      this.send({ id, type, ...fields });
    });
  }

  send(record: Json): void {
    this.child.stdin.write(JSON.stringify(record) + "\n");
  }

  /** The end of its input ends the agent, and everything it started. */
  dispose(): void {
    this.child.stdin.end();
  }

  private take(record: Json, hear: (event: Json) => void): void {
    const answer = record.type === "response" && this.waiting.get(record.id);
    if (answer) {
      this.waiting.delete(record.id);
      answer(record);
    } else {
      hear(record);
    }
  }
}

const firstLine = (text: string): string => text.split("\n", 1)[0];

export function activate(context: vscode.ExtensionContext): void {
  const channel = vscode.window.createOutputChannel("tau", "markdown");
  const status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left);
  status.command = "tau.stop";
  let agent: Agent | undefined;
  /** What the user is asked at the moment, by its id, to close it when it is not asked any more. */
  const open = new Map<string, vscode.CancellationTokenSource>();

  const hear = (event: Json): void => {
    const piece = event.assistantMessageEvent;
    if (event.type === "agent_start") {
      status.text = "$(sync~spin) tau";
      status.show();
    } else if (event.type === "agent_settled") {
      status.hide();
      channel.appendLine(event.aborted ? "\n\n*stopped*\n" : "\n");
    } else if (piece?.type === "text_delta") {
      channel.append(piece.delta);
    } else if (event.type === "tool_execution_start") {
      channel.appendLine(`\n\n> ${event.toolName} ${JSON.stringify(event.args)}\n`);
    } else if (event.type === "tool_execution_end" && event.isError) {
      const text = event.result.content.map((block: Json) => block.text ?? "").join("\n");
      channel.appendLine(`*${event.toolName} failed: ${firstLine(text)}*\n`);
    } else if (event.type === "message_end" && event.message.stopReason === "error") {
      channel.appendLine(`\n\n**${event.message.errorMessage}**\n`);
    } else if (event.type === "approval_requested") {
      void decide(event.request);
    } else if (event.type === "extension_ui_request") {
      void answer(event);
    } else if (event.type === "approval_ended" || event.type === "extension_ui_withdrawn") {
      open.get(event.id)?.cancel();
    }
  };

  /** Lets the user choose one of these; `undefined` if they close the list, or `id` is not asked any more. */
  const choose = async (id: string, title: string, detail: string, options: string[]): Promise<string | undefined> => {
    const source = new vscode.CancellationTokenSource();
    open.set(id, source);
    try {
      return await vscode.window.showQuickPick(options, { title, placeHolder: detail, ignoreFocusOut: true }, source.token);
    } finally {
      open.delete(id);
      source.dispose();
    }
  };

  /** Asks the user whether a call may run. A list that is closed denies it. */
  const decide = async (call: Json): Promise<void> => {
    const rules: string[] = call.blocked ? [] : call.suggestedRules ?? [];
    const always = rules.length > 0 ? `Allow ${rules.join(" and ")} in this session` : undefined;
    const exact = call.canAllowExact ? "Allow exactly this in this session" : undefined;
    const options = ["Allow once", ...[exact, always].filter((option) => option !== undefined), "Deny"];
    const why = call.reasons.map((reason: Json) => reason.text).join("; ");
    const chosen = await choose(call.id, `tau: ${call.toolName} ${call.title}`, why, options);
    const decision =
      chosen === "Allow once"
        ? { decision: "allow" }
        : chosen !== undefined && chosen === always
          ? { decision: "allow_always", rules, scope: "session" }
          : chosen !== undefined && chosen === exact
            ? { decision: "allow_exact" }
            : { decision: "deny" };
    // The agent ignores an answer to a call that does not wait any more.
    void agent?.ask("answer_approval", { approvalId: call.id, ...decision });
  };

  /** Asks the user what an MCP server asks. */
  const answer = async (question: Json): Promise<void> => {
    const { id, method, title, message } = question;
    const reply = (fields: Json): void => agent?.send({ type: "extension_ui_response", id, ...fields });
    if (method === "confirm") {
      const chosen = await choose(id, title, message, ["Yes", "No"]);
      reply(chosen === undefined ? { cancelled: true } : { confirmed: chosen === "Yes" });
    } else if (method === "url") {
      const chosen = await choose(id, title, `${message} ${question.url}`, ["Open", "No"]);
      if (chosen === "Open") await vscode.env.openExternal(vscode.Uri.parse(question.url));
      reply({ confirmed: chosen === "Open" });
    } else {
      // This example has no forms.
      reply({ declined: true });
    }
  };

  const start = (): Agent => {
    const settings = vscode.workspace.getConfiguration("tau");
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const ended = (why: string): void => {
      agent = undefined;
      status.hide();
      for (const source of open.values()) source.cancel();
      channel.appendLine(`\n**${why}**\n`);
    };
    return new Agent(settings.get("program", "tau"), settings.get<string[]>("arguments", []), folder, hear, ended);
  };

  const ask = async (): Promise<void> => {
    const question = await vscode.window.showInputBox({ title: "Ask tau", prompt: "The selected text goes with it" });
    if (!question) return;
    const editor = vscode.window.activeTextEditor;
    const selected = editor?.document.getText(editor.selection) ?? "";
    const name = editor ? vscode.workspace.asRelativePath(editor.document.uri) : "";
    const message = selected ? `${question}\n\nFrom ${name}:\n\`\`\`\n${selected}\n\`\`\`` : question;
    channel.show(true);
    channel.appendLine(`\n## ${question}\n`);
    agent ??= start();
    const taken = await agent.ask("prompt", { message, streamingBehavior: "steer" });
    if (!taken.success) void vscode.window.showErrorMessage(`tau: ${taken.error}`);
  };

  /** Stops the agent. What is queued would start a new run, so it is taken back first. */
  const stop = async (): Promise<void> => {
    const queued = agent?.ask("clear_queue");
    await agent?.ask("abort");
    const { steering = [], followUp = [] } = (await queued)?.data ?? {};
    for (const text of [...steering, ...followUp]) channel.appendLine(`*not sent: ${firstLine(text)}*\n`);
  };

  context.subscriptions.push(
    channel,
    status,
    vscode.commands.registerCommand("tau.ask", ask),
    vscode.commands.registerCommand("tau.stop", stop),
    { dispose: () => agent?.dispose() },
  );
}
