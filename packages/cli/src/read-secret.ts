// Reads what people type, or pipe in: a secret, without echo on a terminal, and the answer to a question.

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

/** Trimmed; "" at the end of the input. Undefined where standard input or the messages are not on a terminal: nobody could answer. */
export async function readAnswer(ask: () => void): Promise<string | undefined> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  ask();
  const lines = createInterface({ input: stdin });
  try {
    return await new Promise((resolve) => {
      lines.once("line", (line) => resolve(line.trim()));
      lines.once("close", () => resolve(""));
    });
  } finally {
    lines.close();
  }
}
