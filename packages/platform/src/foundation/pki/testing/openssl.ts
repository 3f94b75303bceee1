// Runs the openssl command, the oracle of the certificate tests.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Workspace = Disposable & { path(name: string): string; write(name: string, text: string): string };

/** A directory that is removed with the test. */
export function createWorkspace(): Workspace {
  const directory = mkdtempSync(join(tmpdir(), "postern-pki-"));
  const path = (name: string) => join(directory, name);
  return {
    path,
    write(name, text) {
      writeFileSync(path(name), text);
      return path(name);
    },
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Output of the command. Throws with its error output when it exits with another code than 0. */
export const openssl = (...args: readonly string[]): string =>
  execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
