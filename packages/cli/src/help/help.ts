// The look of every help text: wrapped at the width of the terminal, with colours on it, examples, and exit codes.

import { type Command, Help } from "commander";
import type { CommandContext } from "../command-context.ts";
import { EXAMPLES } from "./examples.ts";

const DEFAULT_WIDTH = 80;
/** Largest share of the width for names of options; the text of longer names goes below them. */
const NAMES_SHARE = 0.4;
const INDENT = "  ";

/** Documented in the help, the reference and the man pages. */
export const EXIT_CODES: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "the command succeeded"],
  [
    "1",
    "it failed, the platform refused it, or its options do not go together; the last line on standard error says why",
  ],
  ["2", "the command line cannot be read: an unknown command or option, or an argument that it does not take"],
  ["130, 143", "it was stopped by a second Ctrl-C or SIGTERM"],
];

/** Text after the options. */
export const withNotes = (command: Command, text: string): Command =>
  command.addHelpText("after", () => `\n${wrapLines(text, widthOf(command))}`);

/** Styles the help of the command and of all its subcommands. */
export function styleHelp(
  command: Command,
  { stdout, stderr, environment }: CommandContext,
  parents: readonly string[] = [],
): void {
  const path = [...parents, command.name()];
  const hasColors = stdout.isTTY === true && (environment["NO_COLOR"] ?? "") === "" && environment["TERM"] !== "dumb";
  command
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      // Terminals without a size, such as those of `docker exec` at first, say 0.
      getOutHelpWidth: () => stdout.columns || DEFAULT_WIDTH,
      getErrHelpWidth: () => stdout.columns || DEFAULT_WIDTH,
      getOutHasColors: () => hasColors,
      getErrHasColors: () => false,
    })
    .configureHelp({
      styleTitle: bold,
      styleSubcommandTerm: cyan,
      styleOptionTerm: cyan,
      styleArgumentTerm: cyan,
      padWidth(of, help) {
        const longest = Help.prototype.padWidth.call(help, of, help);
        return Math.min(longest, Math.floor((help.helpWidth ?? DEFAULT_WIDTH) * NAMES_SHARE));
      },
      formatItem(term, width, description, help) {
        const gap = " ".repeat(width + 2 * INDENT.length);
        const text = wrapText(description, Math.max((help.helpWidth ?? DEFAULT_WIDTH) - gap.length, 20)).join(
          `\n${gap}`,
        );
        const fill = width - help.displayWidth(term);
        if (description === "") return `${INDENT}${term}`;
        return fill < 0 ? `${INDENT}${term}\n${gap}${text}` : `${INDENT}${term}${" ".repeat(fill)}${INDENT}${text}`;
      },
    });
  const examples = EXAMPLES[path.join(" ")];
  if (examples !== undefined) command.addHelpText("after", () => `\n${bold("Examples:")}\n${examplesText(examples)}`);
  for (const each of command.commands) styleHelp(each, { stdout, stderr, environment } as CommandContext, path);
}

const examplesText = (examples: readonly string[]): string => examples.map((line) => `${INDENT}${line}`).join("\n");

export const exitCodesText = (): string =>
  `Exit codes:\n${EXIT_CODES.map(([code, meaning]) => `${INDENT}${code.padEnd(8)} ${meaning}`).join("\n")}`;

const bold = (text: string): string => `\u001b[1m${text}\u001b[22m`;
const cyan = (text: string): string => `\u001b[36m${text}\u001b[39m`;

const widthOf = (command: Command): number => command.configureOutput().getOutHelpWidth?.() ?? DEFAULT_WIDTH;

/** Each line by itself, with further lines below the text of the first. */
function wrapLines(text: string, width: number): string {
  return text
    .split("\n")
    .flatMap((line) => {
      const start = /^ *(?:\d+\. |\d[\d, ]* {2,}|\w+: {2,})?/.exec(line)?.[0] ?? "";
      const [first = "", ...rest] = wrapText(line.slice(start.length), Math.max(width - start.length, 20));
      return [`${start}${first}`, ...rest.map((each) => `${" ".repeat(start.length)}${each}`)];
    })
    .join("\n");
}

function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
