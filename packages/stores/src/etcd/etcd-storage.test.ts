import { describeStorage } from "@postern/apiserver/storage/testing/storage-suite";
import { afterAll, beforeAll, describe, test } from "vitest";
import { openEtcdStorage } from "./etcd-storage.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";

const missing = whyNoEtcd();

describe.skipIf(missing !== undefined)("on a real etcd", () => {
  // One for all cases, each with a place of its own; the first of them finds it as it is made.
  let etcd: EtcdCluster;
  let cases = 0;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd[Symbol.asyncDispose]());

  describeStorage("etcd storage", async () => {
    const prefix = `/case-${cases++}`;
    const open = () => openEtcdStorage({ endpoints: etcd.endpoints, prefix, compaction: "always" });
    return { storage: await open(), reopen: open };
  });
});

if (missing !== undefined) test(`the storage suite has not been run on etcd: ${missing}`, ({ skip }) => skip(missing));
