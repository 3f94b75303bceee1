// Reads what people type, or pipe in: a secret, without echo on a terminal, and the answer to a question.

import { readFile } from "node:fs/promises";
import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { UsageError } from "./usage-error.ts";

/** Trimmed. Undefined when standard input is closed, ends or is empty. */
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
  // The terminal sends no signal while its input is read in this mode.
  lines.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const secret = await lineOf(lines);
  stderr.write("\n");
  return secret || undefined;
}

/** Trimmed; from a file, or from standard input if it is `-`. Undefined without text. Throws UsageError. */
export async function readSecretFrom(
  file: string,
  prompt: string,
  readSecret: (prompt: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (file === "-") return await readSecret(prompt);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file} (${error.code})`);
  });
  return text.trim() || undefined;
}

/** Trimmed; "" at the end of the input, such as Ctrl-D. */
async function lineOf(lines: Interface): Promise<string> {
  try {
    return await new Promise((resolve) => {
      lines.once("line", (line) => resolve(line.trim()));
      lines.once("close", () => resolve(""));
    });
  } finally {
    lines.close();
  }
}

/** Trimmed; "" at the end of the input. Undefined without a terminal for input and messages, where the question could not be answered. */
export async function readAnswer(ask: () => void | Promise<void>): Promise<string | undefined> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  await ask();
  return await lineOf(createInterface({ input: stdin }));
}
