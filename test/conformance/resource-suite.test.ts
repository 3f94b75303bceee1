// The suite of every resource that the platform registers, on the stores that servers keep them in. Beside its source it runs in memory.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Storage } from "@postern/apiserver/storage/storage";
import { describeResources } from "@postern/platform/server/testing/resource-cases";
import { openManagementSuiteSurface } from "@postern/platform/testing/management-suite-surface";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { sharedEtcd } from "@postern/stores/etcd/testing/shared-etcd";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterAll, beforeAll, describe, it } from "vitest";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import type { StoreName } from "../e2e/testing/store-names.ts";
import { storesUnderTest } from "../e2e/testing/stores.ts";

const { stores, missing } = storesUnderTest({ durable: true });
const { definitions, ...registered } = await openManagementSuiteSurface();
afterAll(() => registered[Symbol.asyncDispose]());

async function openStorage(name: StoreName, directory: string): Promise<Storage> {
  return name === "etcd"
    ? await openEtcdStorage({ endpoints: [sharedEtcd()?.endpoint ?? ""], prefix: `/suite-${randomUUID()}` })
    : await openSqliteStorage({ path: join(directory, "suite.db") });
}

async function empty(storage: Storage): Promise<void> {
  const { entries } = await storage.list("/");
  await Promise.all(entries.map(({ key, revision }) => storage.delete(key, revision)));
}

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("has run on the others alone", () => {});
});

describe.each(stores)("on $storeName", ({ storeName }) => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let storage: Storage;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    storage = await openStorage(storeName, directory.path);
  });

  afterAll(async () => {
    await storage?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  describeResources(definitions, async () => {
    await empty(storage);
    return await openManagementSuiteSurface(storage);
  });
});
