// Commands that print a secret, and all that is none.

import { expect, it } from "vitest";
import { ConfigurationError } from "../config/configuration-error.ts";
import { readSecretFromCommand } from "./secret-file.ts";

const read = (command: string, timeoutMs?: number) => readSecretFromCommand(command, "the key", "--flag", timeoutMs);
const DIGITS = "0123456789abcdef".repeat(4);

it.each([`echo ${DIGITS}`, `printf ${DIGITS}`])("gives the octets that %s prints", async (command) => {
  expect(Buffer.from(await read(command)).toString("hex")).toBe(DIGITS);
});

it.each([
  ["exit 3", /the command of --flag ended with 3: correct it/],
  ["echo first >&2; echo 'no such key' >&2; exit 1", /ended with 1 \(no such key\)/],
  ["kill -9 $$", /ended with SIGKILL/],
  ["echo something", /must print the key as 64 hexadecimal digits/],
  [`echo ${DIGITS}; echo ${DIGITS}`, /must print the key/],
  ["true", /must print the key/],
])("refuses %s", async (command, line) => {
  await expect(read(command)).rejects.toThrow(line);
  await expect(read(command)).rejects.toBeInstanceOf(ConfigurationError);
});

it("does not wait for a command that takes too long, nor for its children", async () => {
  // It ends when nobody reads it any more.
  const command = "sh -c 'while echo x; do sleep 0.1; done'; true";
  await expect(read(command, 300)).rejects.toThrow(/took longer than 0.3 seconds/);
});
