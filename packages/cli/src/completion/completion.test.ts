// The scripts run in the real shells, where these are installed.

import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const HOME = process.env["HOME"] ?? "";
const isInstalled = (shell: string) => spawnSync(shell, ["--version"]).status === 0;
const scriptFor = async (shell: string) => (await runCommand(["completion", shell])).stdout;

async function completeInBash(line: string): Promise<string[]> {
  const script = `${await scriptFor("bash")}
postern() { printf '%s\n' "$2-one" "$2-two" "\${@:3}"; }
COMP_WORDS=(${line
    .split(" ")
    .map((word) => `'${word}'`)
    .join(" ")})
COMP_CWORD=$((\${#COMP_WORDS[@]}-1))
_postern
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-eu"], { input: script, encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  return stdout.split("\n").filter((word) => word !== "");
}

describe.runIf(isInstalled("bash"))("completion in bash", () => {
  it.each([
    [
      "postern ",
      [
        "--version",
        "serve",
        "login",
        "logout",
        "whoami",
        "status",
        "key",
        "encryption-key",
        "generator",
        "credentials",
        "doctor",
        "ci",
        "trust",
        "unwrap",
        "cluster",
        "ca",
        "kubeconfig",
        "backup",
        "restore",
        "store",
        "access",
        "agent",
        "audit",
        "recording",
        "version",
        "completion",
        "man",
        "provider",
      ],
    ],
    ["postern se", ["serve"]],
    ["postern recording ", ["list", "play"]],
    ["postern key ", ["create", "list", "get", "explain", "rotate", "compromised", "disable", "enable", "revoke"]],
    ["postern key ro", ["rotate"]],
    ["postern key create --displ", ["--display-name"]],
    ["postern serve --secure", ["--secure-port"]],
    ["postern serve --secure-port 1 --log-le", ["--log-level"]],
    ["postern serve --log-level w", ["warn"]],
    ["postern serve --audit-log-mode ", ["batch", "blocking", "blocking-strict"]],
    ["postern serve --data-dir /et", ["/etc"]],
    ["postern serve --secure-port ", []],
    ["postern completion ", ["bash", "zsh", "fish"]],
    ["postern version --output j", ["json"]],
    ["postern key get ", ["keys-one", "keys-two"]],
    ["postern key revoke keys-one keys-t", ["keys-two"]],
    ["postern key revoke --ye", ["--yes"]],
    ["postern kubeconfig ", ["virtual-clusters-one", "virtual-clusters-two"]],
    ["postern kubeconfig demo --project projects-o", ["projects-one"]],
    ["postern key list --context ", ["contexts-one", "contexts-two"]],
    ["postern key create --virtual-cluster virtual-clusters-t", ["virtual-clusters-two"]],
    ["postern audit search --cluster ", ["virtual-clusters-one", "virtual-clusters-two"]],
    ["postern whoami --server logins-o", ["logins-one"]],
    ["postern generator get generators-t", ["generators-two"]],
    ["postern key get --server a ", ["--server=a", "keys-one", "keys-two"]],
    ["postern key get --server = a ", ["--server=a", "keys-one", "keys-two"]],
    ["postern key get --server=a --output ", ["json", "name", "table", "text", "wide", "yaml"]],
    ["postern key get --server=a ", ["--server=a", "keys-one", "keys-two"]],
    [
      "postern key list --kubeconfig ~/x.yaml --context ",
      [`--kubeconfig=${HOME}/x.yaml`, "contexts-one", "contexts-two"],
    ],
    [
      "postern kubeconfig --context c --kubeconfig x --project ",
      ["--context=c", "--kubeconfig=x", "projects-one", "projects-two"],
    ],
  ])("of %j", async (line, expected) => {
    expect((await completeInBash(line)).sort()).toEqual(expected.toSorted());
  });
});

describe.each([
  ["zsh", ["-n", "-c"], "'serve:run the server'"],
  ["fish", ["--no-execute", "-c"], "complete -c postern -n 'not __fish_seen_subcommand_from serve login"],
])("completion in %s", (shell, checkOnly, part) => {
  it("names every command and flag", async () => {
    const script = await scriptFor(shell);
    expect(script).toContain(part);
    for (const word of ["secure-port", "log-level", "revoke", "virtual-cluster"]) expect(script).toContain(word);
  });

  it.runIf(isInstalled(shell))("is a script the shell can read", async () => {
    expect(spawnSync(shell, [...checkOnly, await scriptFor(shell)], { encoding: "utf8" })).toMatchObject({
      status: 0,
      stderr: "",
    });
  });
});

describe.runIf(isInstalled("zsh"))("completion in zsh", () => {
  it.each([
    ["postern key get --server a ", ["keys", "--server=a"]],
    ["postern key get --server='a b' ", ["keys", "--server=a b"]],
    ["postern kubeconfig --kubeconfig ~/x --project ", ["projects", `--kubeconfig=${HOME}/x`]],
    ["postern key revoke ", ["keys"]],
  ])("of %j asks for names of the platform that was typed", async (line, expected) => {
    const words = line.split(/ (?=(?:[^']*'[^']*')*[^']*$)/).map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const script = `compdef() { :; }
compadd() { shift; print -rl -- "$@"; }
_describe() { :; }
postern() { shift; print -rl -- "$@"; }
words=(${words.join(" ")})
CURRENT=${words.length}
${await scriptFor("zsh")}
_postern`;
    const { stdout, stderr } = spawnSync("zsh", ["-f"], { input: script, encoding: "utf8" });
    expect([stderr, stdout.split("\n").filter((word) => word !== "")]).toEqual(["", expected]);
  });
});

describe.runIf(isInstalled("fish"))("completion in fish", () => {
  it.each([
    ["postern se", ["serve"]],
    ["postern key ro", ["rotate"]],
    ["postern kubeconfig demo --pro", ["--project"]],
    ["postern serve --log-level w", ["warn"]],
    ["postern kubeconfig --project ", ["projects-one"]],
    ["postern kubeconfig --server a --project p", ["projects-one"]],
    [
      "postern kubeconfig --kubeconfig ~/x --server=b --project ",
      ["projects-one", `--kubeconfig=${HOME}/x`, "--server=b"],
    ],
  ])("of %j", async (line, expected) => {
    const names = `function postern; printf '%s\\n' $argv[2]-one $argv[3..]; end`;
    const script = `${names}\n${await scriptFor("fish")}complete -C ${JSON.stringify(line)}\n`;
    const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", script], { encoding: "utf8" });
    // Each is followed by a tab and its description.
    expect([stderr, stdout.split("\n").flatMap((row) => row.split("\t")[0] || [])]).toEqual(["", expected]);
  });
});
