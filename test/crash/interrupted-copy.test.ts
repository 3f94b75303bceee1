// A copy into etcd that is killed half-way: no server starts on what is there, no other copy mixes with it, and the same one goes on.

import { once } from "node:events";
import { join } from "node:path";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { expect, it } from "vitest";
import { ENTRY, postern, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { spawnBehind } from "./testing/spawn-behind.ts";

const COUNT = 4_000;

async function fill(path: string, text: string): Promise<void> {
  await using storage = await openSqliteStorage({ path });
  for (let from = 0; from < COUNT; from += 1_000) {
    const keys = Array.from({ length: 1_000 }, (_, at) => `/registry/a/b/c/${from + at}`);
    await Promise.all(keys.map((key) => storage.create(key, Buffer.from(text.repeat(40)))));
  }
}

it("is refused by servers and other copies, and finished by the same one", async ({ skip }) => {
  const reason = whyNoEtcd();
  if (reason !== undefined) return skip(reason);
  await using etcd = await startEtcd();
  await using directory = await temporaryDirectory();
  const [source, other] = [join(directory.path, "source.db"), join(directory.path, "other.db")];
  await Promise.all([fill(source, "mine "), fill(other, "other ")]);
  const to = `etcd://${etcd.endpoints.join(",")}`;
  await using target = await openEtcdStorage({ endpoints: etcd.endpoints });
  const countOf = async () => {
    const { entries, remaining } = await target.list("/registry/", { limit: 1 });
    return entries.length + remaining;
  };

  const copy = ["store", "copy", "--from", `sqlite:${source}`, "--to", to];
  const child = spawnBehind(ENTRY, ...copy);
  const exited = once(child, "exit");
  await expect.poll(countOf, { timeout: 60_000, interval: 20 }).toBeGreaterThan(200);
  child.kill("SIGKILL");
  expect(await exited).toEqual([null, "SIGKILL"]);
  expect(await countOf()).toBeLessThan(COUNT);

  const served = await postern("serve", "--data-dir", join(directory.path, "data"), "--store", to);
  expect(served.code).toBe(1);
  expect(served.stderr).toMatch(/part of a restore or copy that was interrupted: run the same/);
  const mixed = await postern("store", "copy", "--from", `sqlite:${other}`, "--to", to);
  expect(mixed.stderr).toMatch(/part of another restore or copy.*run that command again.*etcdctl del --prefix/);

  const again = await postern(...copy);
  expect(again.stderr).toBe("");
  expect(again.stdout).toMatch(new RegExp(`^${COUNT} entries copied and compared`));
  expect(await target.list("/platform/")).toMatchObject({ entries: [] });
  const oneMore = await postern(...copy);
  expect(oneMore.stderr).toMatch(/is not empty/);
});
