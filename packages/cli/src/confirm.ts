// Asks on a terminal before something that cannot be undone. Elsewhere it needs `--yes`: a script says beforehand that it means it.

import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { plainText } from "./output/plain-text.ts";
import { UsageError } from "./usage-error.ts";

export type ConfirmFlags = { readonly yes?: boolean };

export const withYesOption = (command: Command): Command =>
  command.option("-y, --yes", "do not ask; required where there is no terminal");

/** Throws UsageError unless the user agrees. A question that is a function looks up what it asks about: it is called on a terminal only. */
export async function confirm(
  question: string | (() => Promise<string>),
  { yes }: ConfirmFlags,
  { readAnswer, stderr }: CommandContext,
): Promise<void> {
  if (yes === true) return;
  const answer = await readAnswer(async () => {
    stderr.write(`${plainText(typeof question === "string" ? question : await question())} [y/N] `);
  });
  if (answer === undefined) throw new UsageError("nothing was changed: add --yes where there is no terminal to ask on");
  if (!/^y(es)?$/i.test(answer)) throw new UsageError("nothing was changed");
}

/** `a`, `a and b`, `a, b and 3 more`. */
export function namedList(names: readonly string[]): string {
  const shown = names.slice(0, names.length > MOST_NAMES + 1 ? MOST_NAMES : names.length);
  const rest = names.length - shown.length;
  const parts = rest > 0 ? [...shown, `${rest} more`] : shown;
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

const MOST_NAMES = 10;
