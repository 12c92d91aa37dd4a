// As much of VS Code's API as the extension uses, and its user.
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
/** Waits until this is shown. */
const seen = async (text) => {
  while (!shown.includes(text)) await new Promise((resolve) => setTimeout(resolve, 10));
};
let question = "make it";
let choice = 0;
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
    showInputBox: async () => question,
    showErrorMessage: (text) => console.log(`error: ${text}`),
    showQuickPick: async (options, { title }) => {
      console.log(`asked: ${title} [${options.join("|")}]`);
      return options[choice];
    },
  },
  workspace: {
    workspaceFolders: [{ uri: { fsPath: process.cwd() } }],
    getConfiguration: () => ({ get: (name) => settings[name] }),
  },
  commands: { registerCommand: (name, run) => (commands.set(name, run), { dispose() {} }) },
  /** Asks, allows every call, and waits until the agent has settled. */
  drive: (extension) =>
    used(extension, async () => {
      await commands.get("tau.ask")();
      await done;
    }),
  /** Asks, closes the list of the approval, asks again while the answer is written, and stops. */
  stop: (extension) =>
    used(extension, async () => {
      choice = -1;
      await commands.get("tau.ask")();
      await seen("Then not");
      question = "and more";
      await commands.get("tau.ask")();
      await commands.get("tau.stop")();
      await done;
    }),
};

/** Activates the extension, uses it, ends it, and prints what it has shown. */
async function used(extension, use) {
  const context = { subscriptions: [] };
  extension.activate(context);
  await use();
  context.subscriptions.forEach((subscription) => subscription.dispose());
  console.log(shown);
}
