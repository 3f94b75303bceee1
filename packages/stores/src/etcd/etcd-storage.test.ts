import { describeStorage } from "@postern/apiserver/storage/testing/storage-suite";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openEtcdStorage } from "./etcd-storage.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";

const missing = whyNoEtcd();

describe.skipIf(missing !== undefined)("on a real etcd", () => {
  // Every case wants an empty store, and an etcd cannot be emptied: the next one starts while a case runs.
  let spare: Promise<EtcdCluster>;
  beforeAll(() => {
    spare = startEtcd();
  });
  afterAll(async () => (await spare)[Symbol.asyncDispose]());

  describeStorage("etcd storage", async () => {
    const etcd = await spare;
    spare = startEtcd();
    const open = () => openEtcdStorage({ endpoints: etcd.endpoints });
    return { storage: await open(), reopen: open, cleanUp: () => etcd[Symbol.asyncDispose]() };
  });
});

if (missing !== undefined) test(`the storage suite has not been run on etcd: ${missing}`, ({ skip }) => skip(missing));
