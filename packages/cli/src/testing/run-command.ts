// Runs a command line in the test's process, and captures its output.

import type { CommandContext } from "../command-context.ts";
import { createProgram } from "../program.ts";
import { run } from "../run.ts";

export type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string };

export function createTestContext(
  environment: CommandContext["environment"] = {},
  workingDirectory = "/work-dir",
  secret?: string,
  answer?: string,
) {
  const written = { stdout: "", stderr: "" };
  const context: CommandContext = {
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
    readSecret: async () => secret,
    readAnswer: async (ask) => {
      if (answer === undefined) return undefined;
      await ask();
      return answer;
    },
    environment,
    workingDirectory,
    program: { command: "/usr/local/bin/postern", args: [] },
  };
  return { context, written };
}

export async function runCommand(
  args: readonly string[],
  environment?: CommandContext["environment"],
  secret?: string,
  answer?: string,
): Promise<Outcome> {
  const { context, written } = createTestContext(environment, undefined, secret, answer);
  const code = await run(await createProgram(context), args, context);
  return { code, ...written };
}
