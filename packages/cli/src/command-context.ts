// The parts of the process that commands use: injected, so that tests can replace them.

import type { ExecProgram } from "./kubeconfig/exec-program.ts";

export type Output = {
  write(text: string): unknown;
  /** A terminal whose lines can be rewritten. */
  readonly isTTY?: boolean;
  /** The width of that terminal. */
  readonly columns?: number;
  /** The same without a filter: for text of this program alone. */
  readonly raw?: Output;
};

export type CommandContext = {
  /** Results. */
  readonly stdout: Output;
  /** Messages for people, beside the result. */
  readonly stderr: Output;
  /** A secret from a pipe, or typed without echo. Undefined without a pipe and without a terminal. */
  readonly readSecret: (prompt: string) => Promise<string | undefined>;
  /** A line typed on a terminal, after `ask` has written the question. Undefined without a terminal: `ask` is not called then. */
  readonly readAnswer: (ask: () => void | Promise<void>) => Promise<string | undefined>;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly workingDirectory: string;
  /** How this program is run again. */
  readonly program: ExecProgram;
};
