// STORES=etcd in the environment: servers in the process of a test keep their objects in the etcd of its worker, where the run has one.

import { createHash } from "node:crypto";
import { sharedEtcd } from "@postern/stores/etcd/testing/shared-etcd";
import type { RawValue } from "../foundation/config/option.ts";

/** Flags of the store; none by default. The same folder finds the same objects again. */
export function storeOfTests(dataDir: string): Record<string, RawValue> {
  const etcd = process.env["STORES"] === "etcd" ? sharedEtcd() : undefined;
  if (etcd === undefined) return {};
  return {
    store: `etcd://${etcd.endpoint}`,
    "etcd-prefix": `/postern-${createHash("sha256").update(dataDir).digest("hex").slice(0, 16)}`,
    "etcd-new-installation": "true",
    "etcd-compaction": "always",
  };
}
