import { readFile } from "node:fs/promises";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { startServer } from "../../main.ts";
import { openStoppedServer } from "../../operations/stopped-server.ts";
import { temporaryDirectory } from "../../testing/temporary-directory.ts";
import { loadConfiguration } from "../config/configuration.ts";
import { openStore } from "./open-store.ts";
import { assertSameNames, keepNames } from "./stored-names.ts";

const NAMES = { domain: "postern", name: "postern", projectNamespacePrefix: "p-" };
const configured = (changes: Partial<typeof NAMES> = {}) => ({ platform: { ...NAMES, ...changes } });

it("the names of the first start are kept", async () => {
  await using storage = createMemoryStorage();
  await assertSameNames(storage, configured());
  await keepNames(storage, configured());
  await keepNames(storage, configured());
  await assertSameNames(storage, configured());
});

it.each([
  [{ domain: "acme.example" }, "--platform-domain postern, and the configuration has --platform-domain acme.example"],
  [{ name: "acme" }, "--platform-name postern, and the configuration has --platform-name acme"],
  [{ projectNamespacePrefix: "p-sh" }, "--project-namespace-prefix p-, and the configuration has"],
  [{ domain: "a", name: "a" }, "--platform-domain postern --platform-name postern, and"],
])("a server with %j is refused", async (changes, message) => {
  await using storage = createMemoryStorage();
  await keepNames(storage, configured());
  await expect(keepNames(storage, configured(changes))).rejects.toThrow(message);
  await expect(assertSameNames(storage, configured(changes))).rejects.toThrow("nothing was changed");
});

it("of two servers that start at once with different names, one is refused", async () => {
  await using storage = createMemoryStorage();
  const started = await Promise.allSettled(["a", "b"].map((domain) => keepNames(storage, configured({ domain }))));
  expect(started.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
});

it("a server starts on a store of its own names alone, and changes nothing on another", async () => {
  await using directory = await temporaryDirectory();
  const configure = (flags: object) =>
    loadConfiguration({
      flags: new Map(
        Object.entries({
          "data-dir": directory.path,
          "secure-port": "0",
          "log-level": "silent",
          "shutdown-drain-seconds": "0",
          ...flags,
        }),
      ),
      workingDirectory: directory.path,
    });
  const start = async (flags: object = {}) => await (await startServer(await configure(flags))).close();
  await start();
  const stored = () => readFile(`${directory.path}/postern.db`);
  // As an earlier release has left it: its objects show the names.
  const forgotten = await openStore(await configure({}));
  const record = await forgotten.storage.get("/platform/names");
  await forgotten.storage.delete("/platform/names", record?.revision ?? 0);
  await forgotten.storage[Symbol.asyncDispose]();
  await expect(start({ "project-namespace-prefix": "q-" })).rejects.toThrow("--project-namespace-prefix p-, and");
  await expect(start({ "platform-name": "acme" })).rejects.toThrow("--platform-name postern, and");
  await expect(start({ "platform-domain": "acme.example" })).rejects.toThrow("--platform-domain postern");
  await start();
  const before = await stored();
  // The namespace p-shop of the project shop would belong to a project op.
  await expect(start({ "project-namespace-prefix": "p-sh" })).rejects.toThrow("--project-namespace-prefix p-, and");
  await expect(start({ "platform-domain": "acme.example" })).rejects.toThrow("--platform-domain postern");
  // A list of valid keys from there would have none.
  const other = await configure({ "platform-domain": "acme.example", "platform-name": "postern" });
  await expect(openStoppedServer(other)).rejects.toThrow("nothing was changed");
  expect((await stored()).equals(before)).toBe(true);
  await start();
});
