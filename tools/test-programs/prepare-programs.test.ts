// The test files that are left out on other systems than this one.

import { describe, expect, it } from "vitest";
import { readSource, repositoryFiles } from "../source-files.ts";
import {
  describeMissing,
  isObtainable,
  type Machine,
  type MissingProgram,
  preparePrograms,
} from "./prepare-programs.ts";

/** Has what Node and the system bring, and nothing that was installed. */
const BARE: Machine = { platform: "linux", hasProgram: () => false, mayInstall: () => false };
const MAC: Machine = {
  ...BARE,
  platform: "darwin",
  hasProgram: ({ name }) => ["curl", "openssl"].includes(name),
};

const linesOn = ({ platform }: Machine, missing: readonly MissingProgram[]): readonly string[] =>
  missing.map((each) => describeMissing(each, platform));

describe("on macOS with Node alone", () => {
  const missing = preparePrograms(MAC);
  const leftOut = new Set(missing.flatMap(({ files }) => files));

  it("has a line for each program, which says how to get it there", () => {
    const lines = linesOn(MAC, missing);
    expect(lines.join("\n")).not.toContain("apt-get");
    expect(lines).toContainEqual(
      expect.stringMatching(/^etcd is missing \(.*\): brew install etcd; \d+ test files? left out$/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^chromium is missing \(.*\): brew install --cask chromium; /));
    expect(lines).toContainEqual(
      expect.stringMatching(
        /^127\.0\.0\.2 and 127\.0\.0\.3 is missing .*: sudo ifconfig lo0 alias 127\.0\.0\.2 up && /,
      ),
    );
    for (const name of ["/proc", "strace", "libfaketime", "systemd-analyze", "ip", "node-24"])
      expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${name} is missing \\(.*\\): only on Linux; `)));
  });

  it("leaves out every test that names another address of the machine, or /proc", () => {
    const needing = repositoryFiles().filter(
      (path) =>
        path.endsWith(".test.ts") &&
        !path.startsWith("tools/test-programs/") &&
        /\b127\.0\.0\.[2-9]\b|["'`]\/proc\//.test(readSource(path)),
    );
    expect(needing.length).toBeGreaterThan(10);
    expect(needing.filter((path) => !leftOut.has(path))).toEqual([]);
    // By the shared code that it starts.
    expect(leftOut).toContain("test/attacks/admission-webhooks.test.ts");
  });

  it("runs most of the tests", () => {
    const tests = repositoryFiles().filter((path) => path.endsWith(".test.ts"));
    const rest = tests.filter((path) => !leftOut.has(path));
    expect(rest).toContain("packages/apimachinery/src/names/generate-name.test.ts");
    expect(rest.length).toBeGreaterThan(tests.length / 2);
  });

  it("is at fault for what could be installed, and not for what only Linux has", () => {
    const faults = missing.filter((each) => isObtainable(each, "darwin")).map(({ program }) => program.name);
    expect(faults).toContain("etcd");
    expect(faults).toContain("chromium");
    expect(faults).not.toContain("strace");
    expect(faults).not.toContain("/proc");
  });
});

describe("on Linux", () => {
  const missing = preparePrograms(BARE);

  it("names Debian packages, and nothing of another system", () => {
    const lines = linesOn(BARE, missing);
    expect(lines.join("\n")).not.toMatch(/brew|only on Linux/);
    expect(lines).toContainEqual(expect.stringMatching(/: apt-get install etcd-server; /));
    expect(missing.every((each) => isObtainable(each, "linux"))).toBe(true);
  });

  it("finds both other addresses of this machine", () => {
    if (process.platform !== "linux") return;
    const found = missing.find(({ program }) => program.name.startsWith("127."))?.program;
    expect(found?.isInstalled()).toBe(true);
  });
});
