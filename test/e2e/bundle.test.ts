// The command as it is built, taken to a place where nothing else of the build is: what runs reads nothing that the next build overwrites.

import { cp, mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { expect, it } from "vitest";
import { REPOSITORY, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";

it("opens a database with a thread of its own build", async () => {
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
  const said = await succeed(tool(process.execPath, [at(cli, "bundle", "postern.js"), ...copy]));
  expect(said).toMatch(/^1 entries copied and compared/);
});
