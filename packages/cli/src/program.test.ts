import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { visibleCommands } from "./completion/command-tree.ts";
import { renderCommandReference } from "./help/command-reference.ts";
import { EXIT_CODES } from "./help/help.ts";
import { PLATFORM_ORDER } from "./login/platform-choice.ts";
import { WITHOUT_OUTPUT } from "./output/output-option.ts";
import { createProgram } from "./program.ts";
import { createTestContext, runCommand } from "./testing/run-command.ts";

it("is what docs/reference/commands.md says (else run tools/generate-command-reference.ts)", async () => {
  const page = readFileSync(new URL("../../../docs/reference/commands.md", import.meta.url), "utf8");
  expect(renderCommandReference(await createProgram(createTestContext({}, "/").context))).toBe(page);
});

it.each(["README.md", "docs/guides/command-line.md"])("finds platforms in the order that %s says", (path) => {
  const page = readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8").replaceAll("`", "");
  expect(page).toContain(PLATFORM_ORDER.map((line, at) => `${at + 1}. ${line}\n`).join(""));
});

it("has the exit codes that the guide names", () => {
  const page = readFileSync(new URL("../../../docs/guides/command-line.md", import.meta.url), "utf8");
  for (const [code, meaning] of EXIT_CODES) expect(page).toContain(`| ${code} | ${meaning} |`);
});

it("has -o on every command, but for those with a reason", async () => {
  const leaves = (command: Command, parents: readonly string[]): readonly (readonly [string, Command])[] => {
    const path = [...parents, command.name()];
    const below = visibleCommands(command);
    return below.length === 0 ? [[path.join(" "), command]] : below.flatMap((each) => leaves(each, path));
  };
  const commands = leaves(await createProgram(createTestContext({}, "/").context), []);
  const formatsOf = (command: Command) => command.options.find(({ long }) => long === "--output")?.argChoices;
  expect(
    commands
      .filter(([, command]) => formatsOf(command) === undefined)
      .map(([path]) => path)
      .sort(),
  ).toEqual(Object.keys(WITHOUT_OUTPUT).sort());
  for (const [path, command] of commands)
    if (!(path in WITHOUT_OUTPUT))
      expect([path, formatsOf(command)]).toEqual([path, expect.arrayContaining(["json", "yaml"])]);
});

describe("postern", () => {
  it.each([[["help"]], [["status", "--help"]]])("has the same order in the output of %j", async (args) => {
    const { stdout } = await runCommand(args);
    const words = stdout.replaceAll(/\s+/g, " ");
    for (const line of PLATFORM_ORDER) expect(words).toContain(line);
  });

  it("prints its version", async () => {
    expect(BUILD_INFO.version).toMatch(/^\d+\.\d+\.\d+/);
    expect((await runCommand(["version"])).stdout).toBe(
      `postern ${BUILD_INFO.version} (node ${process.version}, ${process.platform}/${process.arch})\n`,
    );
    expect(JSON.parse((await runCommand(["version", "-o", "json"])).stdout)).toMatchObject({
      version: BUILD_INFO.version,
    });
  });

  it.each([[["--version"]], [["version"]]])("prints the same for %j", async (args) => {
    expect(await runCommand(args)).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^postern \d/) });
  });

  it.each([
    [["help", "key", "create"], "Usage: postern key create "],
    [["key", "help", "create"], "Usage: postern key create "],
    [["help", "key"], "Usage: postern key "],
    [["help"], "Usage: postern "],
  ])("prints the help that %j asks for", async (args, start) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.slice(0, start.length)).toBe(start);
  });

  it("prints help without failing", async () => {
    const { code, stdout } = await runCommand(["serve", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("--secure-port <port>");
    expect(stdout).toMatch(/\[env:\s+POSTERN_SECURE_PORT\]/);
  });

  it.each([
    [["sevre"], "postern: unknown command 'sevre' (Did you mean serve?)\n"],
    [["serve", "--secure-prt", "1"], "postern: unknown option '--secure-prt' (Did you mean --secure-port?)\n"],
    [["serve", "--port", "1"], "postern: unknown option '--port' (Did you mean --secure-port?)\n"],
    [["serve", "--port=1"], "postern: unknown option '--port=1' (Did you mean --secure-port?)\n"],
    [["serve", "--listen", "1"], "postern: unknown option '--listen': postern serve --help lists the options\n"],
    [["key", "list", "--ready"], "postern: unknown option '--ready': postern key list --help lists the options\n"],
    [["serve", "--secure-port"], "postern: option '--secure-port <port>' argument missing\n"],
    [
      ["key", "create", "--ttl", "1y"],
      /^postern: option '--ttl <duration>' argument '1y' is invalid\. .*90m, 12h or 30d\.\n$/,
    ],
    [["key", "create", "--ttl", "5"], /argument '5' is invalid\. Write a number and a unit of s, m, h, d or w, /],
    [["nope"], /^postern: unknown command 'nope': the commands of postern are serve, login, .*completion, man\n$/],
    [
      ["help", "nope"],
      /^postern: unknown command 'nope': the commands of postern are serve, login, .*completion, man\n$/,
    ],
    [["help", "key", "nope"], /^postern: unknown command 'nope': the commands of postern key are create, list, /],
    [["key", "help", "nope"], /^postern: unknown command 'nope': the commands of postern key are create, list, /],
    [["credentials", "list", "--user", "a", "--team", "b"], /'--team <name>'.* with option '--user <name>'|'--user/],
    [["key", "create", "--virtual-cluster", "demo"], /project\/name.*\n$/],
    [["completion", "csh"], /Allowed choices are bash, zsh, fish\.\n$/],
    [
      ["version", "extra"],
      "postern: too many arguments: postern version takes none, and options: postern version --help lists them\n",
    ],
    [["key", "create", "a", "b"], /^postern: too many arguments: postern key create takes <name>, and options: /],
    [
      ["audit", "search", "--since", "yesterday"],
      /Write a time such as 2026-01-31T08:00:00Z, or a duration such as 24h/,
    ],
  ])("answers %j with one line and code 2", async (args, message) => {
    const { code, stdout, stderr } = await runCommand(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("refuses flags of which the one makes no sense without the other", async () => {
    const method = ["key", "explain", "ci", "--method", "PUT"];
    expect(await runCommand(method)).toEqual({ code: 1, stdout: "", stderr: "postern: --method requires --path\n" });
  });

  it("runs as a process, with its exit code", () => {
    const main = fileURLToPath(new URL("main.ts", import.meta.url));
    const node = ["--import", "tsx", "--conditions", "@postern/source", main];
    const version = spawnSync(process.execPath, [...node, "version"], { encoding: "utf8" });
    expect(version).toMatchObject({ status: 0, stderr: "" });
    expect(version.stdout).toContain(BUILD_INFO.version);
    const wrong = spawnSync(process.execPath, [...node, "serve", "--secure-port", "x"], { encoding: "utf8" });
    expect(wrong).toMatchObject({
      status: 1,
      stdout: "",
      stderr: 'postern: --secure-port must be a whole number from 0 to 65535, not "x"\n',
    });
  });
});
