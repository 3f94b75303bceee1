// The command as it is built, taken to a place where nothing else of the build is: what runs reads nothing that the next build overwrites.

import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { expect, it } from "vitest";
import { nodeBinary } from "../../tools/release/node-binary.ts";
import { ENTRY, NODE, REPOSITORY, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";

it("opens a database with the worker thread of its own build", async () => {
  await using directory = await temporaryDirectory();
  const at = (...names: readonly string[]): string => join(directory.path, ...names);
  const cli = join("packages", "cli");
  await mkdir(at(cli), { recursive: true });
  await cp(join(REPOSITORY, cli, "bundle"), at(cli, "bundle"), { recursive: true });
  expect(await readdir(at("packages"))).toEqual(["cli"]);
  {
    await using storage = await openSqliteStorage({ path: at("from.db") });
    await storage.create("/registry/a", Buffer.from("x"));
  }
  const copy = ["store", "copy", "--from", `sqlite:${at("from.db")}`, "--to", `sqlite:${at("to.db")}`];
  // Where Node has no SQLite of its own, the driver is there.
  await symlink(join(REPOSITORY, "node_modules"), at("node_modules"));
  await using _ = { [Symbol.asyncDispose]: () => rm(at("node_modules")) };
  const said = await succeed(tool(NODE, [at(cli, "bundle", "postern.js"), ...copy]));
  expect(said).toMatch(/^1 entries copied and compared/);
});

it("has the SDK of OpenTelemetry in a file of its own, which nothing imports before it is needed", async () => {
  const bundle = join(REPOSITORY, "packages", "cli", "bundle");
  // Files of the build before may lie beside them.
  const names = (await readFile(join(bundle, "files.txt"), "utf8")).split("\n").filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(
    names.map(async (name) => [name, await readFile(join(bundle, name), "utf8")] as const),
  );
  const holders = texts.filter(([, text]) => text.includes("OTLPExporterError")).map(([name]) => name);
  expect(holders).toHaveLength(1);
  const [holder = ""] = holders;
  expect(holder).toMatch(/^open-telemetry-/);
  const importers = texts.filter(([name, text]) => name !== holder && text.includes(holder));
  expect(importers).toHaveLength(1);
  expect(importers[0]?.[1]).toContain(`import("./${holder}")`);
  expect(importers[0]?.[1]).not.toContain(`from "./${holder}"`);
});

it("loads no HTTP client of Node's that it does not use, on the runtime of releases", async () => {
  await using directory = await temporaryDirectory();
  const atExit = join(directory.path, "at-exit.mjs");
  await writeFile(atExit, 'process.on("exit", () => console.log(process.moduleLoadList.join("\\n")));');
  const loaded = (await succeed(tool(nodeBinary("node-24"), ["--import", atExit, ENTRY, "version"]))).split("\n");
  expect(loaded).toContain("NativeModule http");
  expect(loaded.filter((name) => name.includes("undici"))).toEqual([]);
});
