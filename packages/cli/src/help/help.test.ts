import { spawnSync } from "node:child_process";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { visibleCommands } from "../completion/command-tree.ts";
import { createProgram } from "../program.ts";
import { run } from "../run.ts";
import { createTestContext } from "../testing/run-command.ts";
import { EXAMPLES } from "./examples.ts";
import { renderManPages } from "./man-pages.ts";

const program = await createProgram(createTestContext().context);
const paths = (command: Command, parents: readonly string[] = []): readonly string[] => {
  const path = [...parents, command.name()];
  return [path.join(" "), ...visibleCommands(command).flatMap((each) => paths(each, path))];
};
const ALL = paths(program);

/** The help on a terminal of that width. */
async function helpOf(path: string, columns?: number, environment = {}): Promise<string> {
  const { context, written } = createTestContext(environment);
  const stdout = { ...context.stdout, ...(columns === undefined ? {} : { columns, isTTY: true }) };
  const onTerminal = { ...context, stdout };
  const args = [...path.split(" ").slice(1), "--help"];
  expect(await run(await createProgram(onTerminal), args, onTerminal)).toBe(0);
  return written.stdout;
}

describe.each(ALL)("the help of %s", (path) => {
  it("has examples, whose commands and flags exist", async () => {
    const examples = EXAMPLES[path] ?? [];
    expect(await helpOf(path)).toContain(`Examples:\n${examples.map((line) => `  ${line}\n`).join("")}`);
    expect(examples.length).toBeGreaterThan(0);
    for (const line of examples) {
      const words =
        /postern ([^|<>&)"]*)/
          .exec(line.replace(/^buildkite.*?\| |^vault.*?\| /, ""))?.[1]
          ?.trim()
          .split(/ +/) ?? [];
      let command: Command | undefined = program;
      const names = [...words];
      for (let next = find(command, names[0]); next !== undefined; next = find(next, names[0])) {
        command = next;
        names.shift();
      }
      for (const flag of names.filter((word) => /^--?[a-z]/.test(word)))
        expect(
          command.options.flatMap(({ long, short }) => [long, short]),
          line,
        ).toContain(flag);
      if (command.commands.length > 0 && command !== program) expect(names, line).toEqual([]);
    }
  });

  it("has 80 columns on a terminal without a size", async () => {
    expect(await helpOf(path, 0, { NO_COLOR: "1" })).toBe(await helpOf(path, 80, { NO_COLOR: "1" }));
  });

  it.each([60, 80, 132])("fits into %i columns, but for examples", async (columns) => {
    const text = (await helpOf(path, columns, { NO_COLOR: "1" })).split("\nExamples:", 1).join("");
    const long = text
      .split("\n")
      .filter((line) => line.length > columns && !/^Usage:|^ *\S+$|^ {2}\S+ \S+$/.test(line));
    expect(long).toEqual([]);
  });
});

const find = (command: Command, name: string | undefined): Command | undefined =>
  command.commands.find((each) => each.name() === name);

it("has colours on a terminal alone, and none with NO_COLOR or on a dumb terminal", async () => {
  const code = "\u001b[";
  expect(await helpOf("postern key", 80)).toContain(code);
  expect(await helpOf("postern key", 80, { NO_COLOR: "" })).toContain(code);
  expect(await helpOf("postern key", 80, { NO_COLOR: "1" })).not.toContain(code);
  expect(await helpOf("postern key", 80, { TERM: "dumb" })).not.toContain(code);
  expect(await helpOf("postern key")).not.toContain(code);
});

it("shows options of the server under serve alone", async () => {
  for (const path of ALL) {
    const text = await helpOf(path);
    expect([path, /--secure-port|--etcd-prefix/.test(text.split("\nExamples:", 1).join(""))]).toEqual([
      path,
      path === "postern serve",
    ]);
  }
});

describe("man pages", () => {
  const pages = renderManPages(program);

  it("are there for every command, with its flags, examples and exit codes", () => {
    expect(pages.map(({ name }) => name)).toEqual(ALL.map((path) => `${path.replaceAll(" ", "-")}.1`));
    const page = pages.find(({ name }) => name === "postern-key-list.1")?.text ?? "";
    for (const part of ["\\-\\-unused\\-for <duration>", ".SH EXAMPLES", ".SH EXIT STATUS", "postern-key"])
      expect(page.replaceAll("\\-key", "-key")).toContain(part);
  });

  it("are what groff reads without a warning", () => {
    const input = pages.map(({ text }) => text).join("\n");
    const { status, stderr } = spawnSync("groff", ["-man", "-Tutf8", "-ww", "-z"], { input, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});
