// Renders the man pages from the program itself: one for `postern`, one for each command below it. `postern man` writes them.
// Source: man-pages(7), man(7)

import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { makeDirectory } from "@postern/client/make-directory";
import { Command, type Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { visibleCommands } from "../completion/command-tree.ts";
import { PLATFORM_ORDER } from "../login/platform-choice.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { UsageError } from "../usage-error.ts";
import { EXAMPLES } from "./examples.ts";
import { EXIT_CODES } from "./help.ts";

export type ManPage = { readonly name: string; readonly text: string };

/** `program`: the complete command tree when the command runs. */
export const createManCommand = (context: CommandContext, program: Command): Command =>
  withOutputOption(new Command("man"))
    .description("write the man pages of all commands into a directory")
    .argument("<directory>", "the directory, such as ~/.local/share/man/man1")
    .action(async (directory: string, flags: OutputFlags) => {
      const target = resolve(context.workingDirectory, directory);
      const pages = renderManPages(program);
      try {
        await makeDirectory(target);
        for (const { name, text } of pages) await writeFile(join(target, name), text);
      } catch (error) {
        throw new UsageError(`cannot write the man pages to ${target} (${codeOf(error)})`, { cause: error });
      }
      const files = pages.map(({ name }) => join(target, name));
      if (writeAs(flags, { files }, context)) return;
      context.stderr.write(`Wrote ${pages.length} man pages to ${target}.\n`);
    });

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error);

/** `postern.1`, `postern-key-create.1` and so on. */
export function renderManPages(program: Command): readonly ManPage[] {
  const render = (command: Command, parents: readonly string[]): readonly ManPage[] => {
    const path = [...parents, command.name()];
    return [
      { name: `${path.join("-")}.1`, text: renderPage(command, path) },
      ...visibleCommands(command).flatMap((each) => render(each, path)),
    ];
  };
  return render(program, []);
}

function renderPage(command: Command, path: readonly string[]): string {
  const name = path.join("-");
  const words = command.registeredArguments.map((argument) => {
    const word = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${word}>` : `[${word}]`;
  });
  const subcommands = visibleCommands(command);
  const usage = [...path, "[options]", ...(subcommands.length > 0 ? ["<command>"] : []), ...words].join(" ");
  const options = command.options.filter(({ hidden }) => !hidden);
  const examples = EXAMPLES[path.join(" ")] ?? [];
  return [
    `.TH ${name.toUpperCase()} 1 "" "postern ${BUILD_INFO.version}" "Postern"`,
    ".SH NAME",
    `${escaped(name)} \\- ${escaped(command.summary() || command.description())}`,
    ".SH SYNOPSIS",
    `.B ${escaped(usage)}`,
    ".SH DESCRIPTION",
    escaped(command.description()),
    ...section("ARGUMENTS", command.registeredArguments, (each) => [each.name(), each.description]),
    ...section("OPTIONS", options, (each) => [each.flags, optionText(each)]),
    ...section("COMMANDS", subcommands, (each) => [
      [...path, each.name()].join("-"),
      each.summary() || each.description(),
    ]),
    ...(examples.length === 0 ? [] : [".SH EXAMPLES", ".nf", ...examples.map(escaped), ".fi"]),
    ...(path.length > 1 ? [] : [".SH ENVIRONMENT", "The first of these that names a platform is used:"]),
    ...(path.length > 1 ? [] : PLATFORM_ORDER.flatMap((line, at) => [`.IP ${at + 1}. 4`, escaped(line)])),
    ...section("EXIT STATUS", EXIT_CODES, (each) => each),
    ...(path.length === 1 ? [] : [".SH SEE ALSO", `.BR ${escaped(path.slice(0, -1).join("-"))} (1)`]),
    "",
  ].join("\n");
}

function section<T>(
  title: string,
  items: readonly T[],
  row: (item: T) => readonly [term: string, text: string],
): readonly string[] {
  if (items.length === 0) return [];
  return [`.SH ${title}`, ...items.map(row).flatMap(([term, text]) => [".TP", `.B ${escaped(term)}`, escaped(text)])];
}

const optionText = ({ description, argChoices, defaultValue }: Option): string =>
  [
    description.replace(/([^.])$/, "$1."),
    ...(argChoices === undefined ? [] : [`One of ${argChoices.join(", ")}.`]),
    ...(typeof defaultValue === "string" && defaultValue !== "" ? [`Default: ${defaultValue}.`] : []),
  ].join(" ");

/** A dash of an option is no hyphen; a dot or a quote at the start of a line would be a request; troff reads ASCII. */
const escaped = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll(/^[.']/gm, "\\&$&")
    .replaceAll(
      /[^\n -~]/gu,
      (sign) => `\\[u${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );
