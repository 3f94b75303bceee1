import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadConfiguration } from "../../foundation/config/configuration.ts";
import { examine } from "./examine.ts";

/** Its first server has not started yet. */
async function checksOf(store: string, environment = {}): Promise<readonly string[]> {
  const flags = new Map([
    ["data-dir", join(tmpdir(), "postern-doctor-of-nothing")],
    ["store", store],
  ]);
  const findings = await examine(
    await loadConfiguration({ flags, environment, workingDirectory: tmpdir() }),
    Date.now(),
  );
  return findings.filter(({ status }) => status === "error").map(({ check }) => check);
}

it.each([
  ["looks at an etcd", "etcd://127.0.0.1:1", ["files", "etcd"]],
  ["leaves out a database", "sqlite", ["files"]],
])("%s where the data directory is none", async (_title, store, checks) => {
  expect(await checksOf(store)).toEqual(checks);
});

it("says that the HTTP proxy of the environment cannot be used", async () => {
  expect(await checksOf("sqlite", { HTTPS_PROXY: "socks5://proxy.example" })).toEqual(["options", "files"]);
});
