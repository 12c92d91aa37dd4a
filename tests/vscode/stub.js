// As much of VS Code's API as the extension uses: a user who asks one question and allows every call.
const commands = new Map();
let shown = "";
let settled = () => {};

const done = new Promise((resolve) => (settled = resolve));
const channel = {
  append: (text) => (shown += text),
  appendLine: (text) => (shown += text + "\n"),
  show() {},
  dispose() {},
};
const settings = { program: process.env.TAU_PROGRAM, arguments: JSON.parse(process.env.TAU_ARGUMENTS) };

module.exports = {
  StatusBarAlignment: { Left: 1 },
  CancellationTokenSource: class {
    token = {};
    cancel() {}
    dispose() {}
  },
  window: {
    activeTextEditor: undefined,
    createOutputChannel: () => channel,
    createStatusBarItem: () => ({ show() {}, hide: () => settled(), dispose() {} }),
    showInputBox: async () => "make it",
    showErrorMessage: (text) => console.log(`error: ${text}`),
    showQuickPick: async (options, { title }) => {
      console.log(`asked: ${title} [${options.join("|")}]`);
      return options[0];
    },
  },
  workspace: {
    workspaceFolders: [{ uri: { fsPath: process.cwd() } }],
    getConfiguration: () => ({ get: (name) => settings[name] }),
  },
  commands: { registerCommand: (name, run) => (commands.set(name, run), { dispose() {} }) },
  /** Asks, waits until the agent has settled, and ends the extension. */
  drive: async (extension) => {
    const context = { subscriptions: [] };
    extension.activate(context);
    await commands.get("tau.ask")();
    await done;
    context.subscriptions.forEach((subscription) => subscription.dispose());
    console.log(shown);
  },
};
