// What the user does with a whole session (rename, export, delete), and pictures for a prompt.

import * as api from "/page/api.js";
import { element, picture, visible } from "/page/text.js";

const at = (id) => document.getElementById(id);
/** Largest picture that models take, in bytes. */
const LARGEST = 5 * 1024 * 1024;

/** The dialog of a session. `named` and `deleted` are called once that is done; `current` gives its id and its name. */
export function sessionDialog(current, named, deleted) {
  const dialog = at("actions-dialog");
  const problem = at("actions-error");
  /** Deleting takes two presses. */
  const ask = (isAsked) => {
    at("delete").textContent = isAsked ? "Yes, delete it" : "Delete";
    at("delete").dataset.asked = isAsked ? "yes" : "";
    at("delete-note").textContent = isAsked ? "The session goes to the server's trash, if it has one. What it has done stays done." : "";
  };
  const work = async (button, doIt) => {
    problem.textContent = "";
    button.disabled = true;
    try {
      await doIt();
    } catch (error) {
      problem.textContent = error.message;
    }
    button.disabled = false;
  };
  at("actions").addEventListener("click", () => {
    problem.textContent = "";
    ask(false);
    at("name").value = current().name;
    dialog.showModal();
  });
  at("actions-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const { id } = current();
    work(at("rename"), async () => {
      const name = at("name").value.trim();
      if (!name) throw new Error("Enter a name.");
      await api.changeSession(id, { name });
      dialog.close();
      named(id, name);
    });
  });
  at("export").addEventListener("click", () => {
    const { id } = current();
    const format = at("format").value;
    work(at("export"), async () => {
      const data = await api.exportSession(id, format);
      const link = element("a", { href: URL.createObjectURL(data), download: `tau-${id}.${format}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    });
  });
  at("delete").addEventListener("click", () => {
    if (!at("delete").dataset.asked) return ask(true);
    const { id } = current();
    work(at("delete"), async () => {
      await api.deleteSession(id);
      dialog.close();
      deleted(id);
    });
  });
  at("actions-close").addEventListener("click", () => dialog.close());
}

/** The dialog of a new session; `made` is called with its id. */
export function newDialog(made) {
  at("new").addEventListener("click", async () => {
    at("new-error").textContent = "";
    at("new-dialog").showModal();
    try {
      const { models } = await api.listModels();
      const rows = models.map((model) => element("option", { value: `${model.provider}/${model.id}` }, `${model.provider}/${model.id}`));
      const chosen = at("new-model").value;
      at("new-model").replaceChildren(element("option", { value: "" }, "Server default"), ...rows);
      at("new-model").value = chosen;
    } catch (error) {
      at("new-error").textContent = error.message;
    }
  });
  at("new-cancel").addEventListener("click", () => at("new-dialog").close());
  at("new-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const options = { permissionMode: at("new-mode").value };
    if (at("new-cwd").value.trim()) options.cwd = at("new-cwd").value.trim();
    if (at("new-model").value) options.model = at("new-model").value;
    try {
      const session = await api.createSession(options);
      at("new-dialog").close();
      await made(session.id);
    } catch (error) {
      at("new-error").textContent = error.message;
    }
  });
}

/** The pictures that go with the next prompt. */
export class Pictures {
  constructor(complain) {
    this.blocks = [];
    this.complain = complain;
    at("attach").addEventListener("click", () => at("file").click());
    at("file").addEventListener("change", () => {
      // The list is emptied with the field.
      this.add([...at("file").files]);
      at("file").value = "";
    });
    at("prompt").addEventListener("paste", (event) => {
      const files = [...event.clipboardData.files].filter((file) => file.type.startsWith("image/"));
      if (files.length) {
        event.preventDefault();
        this.add(files);
      }
    });
  }

  async add(files) {
    for (const file of files) {
      if (!["image/png", "image/jpeg", "image/gif", "image/webp"].includes(file.type)) {
        this.complain(new Error(`${visible(file.name)} is not a PNG, JPEG, GIF or WebP picture.`));
      } else if (file.size > LARGEST) {
        this.complain(new Error(`${visible(file.name)} is larger than 5 MB.`));
      } else {
        const bytes = new Uint8Array(await file.arrayBuffer());
        let text = "";
        for (let from = 0; from < bytes.length; from += 0x8000) text += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
        this.blocks.push({ name: file.name, block: { type: "image", data: btoa(text), mimeType: file.type } });
      }
    }
    this.draw();
  }

  /** The pictures, which are sent now; `put` takes them back. */
  take() {
    const taken = this.blocks;
    this.blocks = [];
    this.draw();
    return taken;
  }

  put(taken) {
    this.blocks = [...taken, ...this.blocks];
    this.draw();
  }

  draw() {
    at("pictures").replaceChildren(...this.blocks.map((entry) => {
      const shown = picture(entry.block);
      shown.alt = visible(entry.name);
      const drop = () => {
        this.blocks = this.blocks.filter((other) => other !== entry);
        this.draw();
        at("prompt").focus();
      };
      return element("li", {}, shown, element("button", { type: "button", class: "plain", "aria-label": `Remove ${visible(entry.name)}`, onclick: drop }, "×"));
    }));
  }
}
