// Commands that print a secret, and all that is none.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { ConfigurationError } from "../config/configuration-error.ts";
import { readSecretFromCommand } from "./secret-command.ts";
import { readSecret } from "./secret-file.ts";

const read = (command: string, timeoutMs?: number) => readSecretFromCommand(command, "the key", "--flag", timeoutMs);
const DIGITS = "0123456789abcdef".repeat(4);

it.each([
  `echo ${DIGITS}`,
  `printf ${DIGITS}`,
  `printf '${DIGITS}\\r\\n'`,
  `printf ' ${DIGITS} \\n\\n'`,
  `printf '\\357\\273\\277${DIGITS}\\n'`,
])("gives the octets that %s prints", async (command) => {
  expect(Buffer.from(await read(command)).toString("hex")).toBe(DIGITS);
});

it.each([
  ["exit 3", /the command of --flag ended with 3: correct it/],
  ["echo first >&2; echo 'no such key' >&2; exit 1", /ended with 1 \(no such key\)/],
  ["kill -9 $$", /ended with SIGKILL/],
  ["echo something", /must print the key as 64 hexadecimal digits/],
  [`echo ${DIGITS}; echo ${DIGITS}`, /must print the key/],
  [`echo ${DIGITS.slice(1)}`, /must print the key/],
  [`printf '${DIGITS.slice(0, 32)}\\n${DIGITS.slice(32)}'`, /must print the key/],
  ["true", /must print the key/],
])("refuses %s", async (command, line) => {
  await expect(read(command)).rejects.toThrow(line);
  await expect(read(command)).rejects.toBeInstanceOf(ConfigurationError);
});

it("does not wait for a command that takes too long, nor for its children", async () => {
  // Ends when its output is no longer read.
  const command = "sh -c 'while echo x; do sleep 0.1; done'; true";
  await expect(read(command, 300)).rejects.toThrow(/took longer than 0.3 seconds/);
});

it.each(["\n", "\r\n", " \r\n", "\t", "\n\n"])("reads a file whose text ends in %j", async (ending) => {
  const folder = await mkdtemp(join(tmpdir(), "secret-file-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, "server.key");
  await writeFile(path, `${DIGITS}${ending}`);
  expect(Buffer.from((await readSecret(path, "the key")) ?? []).toString("hex")).toBe(DIGITS);
});
