// Reads a secret from standard input: everything from a pipe, or one line from a terminal without echo.

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";

/** Trimmed. Undefined when standard input is closed or empty. */
export async function readSecret(prompt: string): Promise<string | undefined> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY) {
    const chunks: Buffer[] = [];
    for await (const chunk of stdin) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks).toString("utf8").trim() || undefined;
  }
  stderr.write(prompt);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: silent, terminal: true });
  try {
    return (await lines.question("")).trim() || undefined;
  } finally {
    lines.close();
    stderr.write("\n");
  }
}
