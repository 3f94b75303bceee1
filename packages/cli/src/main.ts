#!/usr/bin/env node
// The postern command.

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { Command } from "commander";
import { execProgram } from "./kubeconfig/exec-program.ts";
import { readAnswer, readSecret } from "./read-secret.ts";
import { run } from "./run.ts";

// The reader of the output may stop early, like `head`. A server goes on without it.
const isServer = process.argv[2] === "serve" || process.argv[2] === "agent";
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (isServer) return;
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (!isServer && error.code !== "EPIPE") throw error;
});

const context = {
  stdout: process.stdout,
  stderr: process.stderr,
  readSecret,
  readAnswer,
  environment: process.env,
  workingDirectory: process.cwd(),
  program: execProgram({
    execPath: process.execPath,
    script: process.argv[1],
    packageName: `postern@${BUILD_INFO.version}`,
  }),
};

// No await at the top level: the single executable is a CommonJS script.
void createNeededProgram()
  .then((program) => run(program, process.argv.slice(2), context))
  .then((code) => {
    process.exitCode = code;
  });

/** An agent stays in little memory: it loads no other command. */
async function createNeededProgram(): Promise<Command> {
  if (process.argv[2] !== "agent") return await (await import("./program.ts")).createProgram(context);
  const { createAgentCommand } = await import("./agent/agent.ts");
  return new Command("postern").addCommand(createAgentCommand(context));
}
