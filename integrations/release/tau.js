#!/usr/bin/env node
// Starts tau, which is in the package of this platform.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

function isMusl() {
  const report = process.report && process.report.getReport();
  return process.platform === "linux" && !(report && report.header.glibcVersionRuntime);
}

function find() {
  const name = `taucode-${process.platform}-${process.arch}`;
  const names = isMusl() ? [`${name}-musl`] : [name, `${name}-musl`];
  for (const candidate of names) {
    try {
      return require.resolve(`${candidate}/bin/tau`);
    } catch {
      // The next one.
    }
  }
  console.error(
    `tau: the package ${names[0]} is missing. Install taucode again without --omit=optional and --no-optional; ` +
      "if there is no such package, tau is not built for this platform.",
  );
  process.exit(1);
}

const program = find();
const words = process.argv.slice(2);

// Newer versions of Node can become the program, so that nothing of Node stays in memory.
if (typeof process.execve === "function") {
  process.removeAllListeners("warning");
  try {
    process.execve(program, ["tau", ...words], process.env);
  } catch {
    // As below.
  }
}

const child = spawn(program, words, { stdio: "inherit" });
// Ctrl+C reaches both, as they share the terminal; what is sent to Node alone is passed on.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`tau: cannot start ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
