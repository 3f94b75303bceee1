// The suite of every resource that the platform registers, on the stores that servers keep them in. Beside its source it runs in memory.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Storage } from "@postern/apiserver/storage/storage";
import { describeResources } from "@postern/platform/resources/testing/resource-cases";
import { openManagementSuiteSurface } from "@postern/platform/testing/management-suite-surface";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { temporaryDirectory } from "../e2e/testing/postern-process.ts";
import type { StoreName } from "../e2e/testing/store-names.ts";
import { storesUnderTest } from "../e2e/testing/stores.ts";

const { stores, missing } = storesUnderTest({ durable: true });
const { definitions, ...registered } = await openManagementSuiteSurface();
afterAll(() => registered[Symbol.asyncDispose]());

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => directory?.[Symbol.asyncDispose]());

/** With nothing in it. */
async function openStorage(name: StoreName): Promise<Storage> {
  if (name === "etcd") {
    return await openEtcdStorage({ endpoints: [inject("etcdEndpoint") ?? ""], prefix: `/suite-${randomUUID()}` });
  }
  return await openSqliteStorage({ path: join(directory.path, `${randomUUID()}.db`) });
}

describe.skipIf(missing.length === 0)(`without: ${missing.join("; ")}`, () => {
  it.skip("has run on the others alone", () => {});
});

describe.each(stores)("on $storeName", ({ storeName }) => {
  describeResources(definitions, async () => await openManagementSuiteSurface(await openStorage(storeName)));
});
