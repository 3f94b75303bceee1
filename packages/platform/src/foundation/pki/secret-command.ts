// Reads a secret from a command, such as one that asks a key management service.

import { spawn } from "node:child_process";
import { ConfigurationError } from "../config/configuration-error.ts";
import { parseSecret } from "./secret-file.ts";

const TIMEOUT_MS = 30_000;
const MAX_OUTPUT_BYTES = 4096;

/**
 * Runs `command` in a shell and gives the 32 octets that it prints in hexadecimal. `what` names the secret in errors, `flag` the option.
 * Rejects with ConfigurationError. No error shows the output of the command; its error output is shown. It has `timeoutMs`.
 */
export async function readSecretFromCommand(
  command: string,
  what: string,
  flag: string,
  timeoutMs = TIMEOUT_MS,
): Promise<Uint8Array> {
  const { code, stdout, stderr } = await runCommand(command, flag, timeoutMs);
  if (code !== 0) {
    const complaint = stderr.trim().split("\n").at(-1) ?? "";
    throw new ConfigurationError(
      `the command of ${flag} ended with ${code}${complaint === "" ? "" : ` (${complaint})`}: correct it; nothing was changed`,
    );
  }
  const secret = parseSecret(stdout);
  if (secret !== undefined) return secret;
  throw new ConfigurationError(`the command of ${flag} must print ${what} as 64 hexadecimal digits: correct it`);
}

type Outcome = { readonly code: number | string; readonly stdout: string; readonly stderr: string };

function runCommand(command: string, flag: string, timeoutMs: number): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
    const printed = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        if (printed[name].length < MAX_OUTPUT_BYTES) printed[name] += text;
      });
    }
    const timer = setTimeout(() => {
      child.kill();
      // Children of the shell may keep running, and keep them open.
      child.stdout.destroy();
      child.stderr.destroy();
      const text = `the command of ${flag} took longer than ${timeoutMs / 1000} seconds: correct it; nothing was changed`;
      reject(new ConfigurationError(text));
    }, timeoutMs);
    child.once("error", (cause) => {
      clearTimeout(timer);
      reject(new ConfigurationError(`the command of ${flag} cannot be run: correct it`, { cause }));
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code: code ?? signal ?? "no code", ...printed });
    });
  });
}
