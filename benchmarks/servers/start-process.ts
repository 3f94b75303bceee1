// Starts a server as a process of its own, and waits until it prints its address.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

export type ServerProcess = AsyncDisposable & { readonly pid: number; readonly url: string };

const URL_IN_OUTPUT = /https:\/\/[\w.:[\]-]+/;

/** Rejects with its output if it ends before it listens. */
export async function startProcess(args: readonly string[], node: string = process.execPath): Promise<ServerProcess> {
  const child = spawn(node, args, { stdio: ["ignore", "pipe", "pipe"] });
  const url = await firstUrl(child);
  return {
    // A process that has written something has an ID.
    pid: child.pid as number,
    url,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    },
  };
}

function firstUrl(child: ChildProcess): Promise<string> {
  let output = "";
  return new Promise((resolve, reject) => {
    const take = (chunk: Buffer): void => {
      output += chunk.toString();
      const found = URL_IN_OUTPUT.exec(output);
      if (found !== null) resolve(found[0]);
    };
    child.stdout?.on("data", take);
    child.stderr?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.once("exit", () => reject(new Error(`the server did not start:\n${output}`)));
  });
}
