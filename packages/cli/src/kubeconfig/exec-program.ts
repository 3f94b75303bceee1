// How kubectl runs this program again: by absolute paths, since the PATH of an editor or a service is another one than that of a shell.

import { sep } from "node:path";
import { isExecutable } from "../is-executable.ts";

export type ExecProgram = {
  readonly command: string;
  /** Before the arguments of the command itself. */
  readonly args: readonly string[];
};

export type RunningProgram = {
  /** Absolute path of Node, or of the single executable. */
  readonly execPath: string;
  /** Absolute path of the script; undefined for the single executable. */
  readonly script: string | undefined;
  /** `name@version` for npx. */
  readonly packageName: string;
};

export function execProgram({ execPath, script, packageName }: RunningProgram): ExecProgram {
  if (script === undefined || script === execPath) return { command: execPath, args: [] };
  // The cache of npx is emptied now and then.
  if (script.includes(`${sep}_npx${sep}`)) return { command: "npx", args: ["--yes", packageName] };
  return isExecutable(script) ? { command: script, args: [] } : { command: execPath, args: [script] };
}
