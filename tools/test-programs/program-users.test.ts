// Every program that a test runs is known, so that `npm test` can say which files it leaves out.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isTest } from "../imports.ts";
import { readSource, repositoryFiles } from "../source-files.ts";
import { createProgramUsers } from "./program-users.ts";
import { TEST_PROGRAMS } from "./programs.ts";

const usersOf = createProgramUsers();
const programNamed = (name: string) => TEST_PROGRAMS.find((program) => program.name === name)!;

describe("the users of programs", () => {
  it.each([
    ["chromium", "test/e2e/sign-in.test.ts", "test/e2e/kubectl.test.ts"],
    ["etcd", "packages/stores/src/etcd/etcd-storage.test.ts", "test/e2e/kubectl.test.ts"],
    ["promtool", "test/e2e/metrics.test.ts", "test/e2e/sign-in.test.ts"],
    ["kubectl", "test/e2e/kubectl.test.ts", "packages/stores/src/etcd/etcd-storage.test.ts"],
    ["openssl", "test/e2e/certificate-signer.test.ts", "test/crash/kill-nine.test.ts"],
    ["127.0.0.2 and 127.0.0.3", "test/attacks/token-issuers.test.ts", "test/e2e/kubectl.test.ts"],
    ["/proc", "test/attacks/denial-of-service.test.ts", "test/e2e/kubectl.test.ts"],
    ["binaries for Linux on x64", "test/e2e/helm.test.ts", "test/e2e/sign-in.test.ts"],
    ["openssl", "tools/secret-scan/planted-leaks.test.ts", "tools/secret-scan/find-leaks.test.ts"],
  ])("of %s include %s and not %s", (name, included, excluded) => {
    const users = usersOf(programNamed(name));
    expect(users).toContain(included);
    expect(users).not.toContain(excluded);
  });

  it.each(TEST_PROGRAMS.map(({ name }) => [name]))("of %s are some files", (name) => {
    expect(usersOf(programNamed(name)).length).toBeGreaterThan(0);
  });

  it("covers every program that tests start by name", () => {
    const started = /\b(?:tool|spawn|spawnSync|execFile|execFileSync|startTool)\(\s*"([a-z][\w.-]*)"/g;
    const ofEverySystem = "bash cp env find git mount nice node npm npx script sh sha256sum tar umount unshare";
    // Tests skip what these are needed for.
    const optional = "dpkg fish terraform zsh";
    const known = new Set([...`${ofEverySystem} ${optional}`.split(" "), ...TEST_PROGRAMS.map(({ name }) => name)]);
    const sources = repositoryFiles()
      .filter((path) => path.endsWith(".ts") && /^(test|packages)\//.test(path) && isTest(path))
      .map(readSource);
    const names = new Set(sources.flatMap((source) => [...source.matchAll(started)].map(([, name = ""]) => name)));
    const unknown = [...names].filter((name) => !known.has(name));
    expect(names).toContain("openssl");
    expect(unknown).toEqual([]);
  });
});

describe("npm test where only Node is on the path", () => {
  /** A folder of programs that every system has, beside Node. */
  const barePath = (folder: string): string => {
    mkdirSync(folder, { recursive: true });
    symlinkSync(process.execPath, join(folder, "node"));
    for (const name of ["sh", "git"]) {
      const { stdout } = spawnSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" });
      symlinkSync(stdout.trim(), join(folder, name));
    }
    return folder;
  };
  // One that needs Node alone, two of programs that are missing, and one of the night.
  const FILES = [
    "packages/apimachinery/src/names/generate-name.test.ts",
    "packages/platform/src/foundation/pki/certificates.test.ts",
    "test/e2e/certificate-signer.test.ts",
    "test/simulation/servers.test.ts",
  ];
  const run = (env: NodeJS.ProcessEnv) => {
    const folder = mkdtempSync(join(tmpdir(), "postern-bare-"));
    try {
      const { CI: _, ...rest } = process.env;
      return spawnSync(process.execPath, ["--import", "tsx", "tools/test.ts", ...FILES], {
        cwd: join(dirname(import.meta.dirname), ".."),
        encoding: "utf8",
        env: { ...rest, NO_COLOR: "1", PATH: barePath(join(folder, "bin")), ...env },
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it("runs the files that it has all for, and ends with a line for each missing program", () => {
    const { status, stdout, stderr } = run({});
    expect(status, `${stdout}${stderr}`).toBe(0);
    expect(stdout).toMatch(/^ +Test Files +1 passed \(1\)$/m);
    expect(stdout).toMatch(/^etcd is missing \(.+\): apt-get install etcd-server; \d+ test files? left out$/m);
    expect(stdout).toMatch(/^promtool is missing \(/m);
  });

  it("fails with CI=true before any test", () => {
    const { status, stdout } = run({ CI: "true" });
    expect(status).toBe(1);
    expect(stdout).toContain("etcd is missing");
    expect(stdout).not.toContain("Test Files");
  });
});
