// A server that was started from an artefact, by whatever command that takes.

import type { ChildProcess } from "node:child_process";

export type InstalledServer = AsyncDisposable & {
  readonly url: string;
  /** Everything that it printed, both streams. */
  output(): string;
  stop(): Promise<void>;
};

/** Waits until it prints that it is ready; rejects with what it printed if it ends before. */
export async function startInstalled(child: ChildProcess): Promise<InstalledServer> {
  let printed = "";
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        const ready = /ready at (https:\/\/\S+)/.exec(printed)?.[1];
        if (ready !== undefined) resolve(ready);
      });
    child.once("error", reject);
    void exited.then(() => reject(new Error(`the server ended:\n${printed}`)));
  });
  const stop = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return {
    url,
    output: () => printed,
    stop: () => stop("SIGTERM"),
    [Symbol.asyncDispose]: () => stop("SIGKILL"),
  };
}
