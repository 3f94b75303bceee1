// The stores that servers of end-to-end tests keep their objects in.

import { createHash, randomUUID } from "node:crypto";
import { sharedEtcd } from "@postern/stores/etcd/testing/shared-etcd";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { areStoresChosen, type StoreName, storeNames } from "./store-names.ts";

export type StoreUnderTest = {
  readonly storeName: StoreName;
  /** Flags of `postern serve` for a store with nothing in it. The same flags find the same objects again. */
  newStore(): readonly string[];
};

/** `missing` says why some of STORES are left out; `durable` leaves out what is gone with its server. */
export function storesUnderTest({ durable = false }: { readonly durable?: boolean } = {}): {
  readonly stores: readonly StoreUnderTest[];
  readonly missing: readonly string[];
} {
  const reasons = storeNames().map((name) => ({ name, reason: reasonAgainst(name, durable) }));
  return {
    stores: reasons
      .filter(({ reason }) => reason === undefined)
      .map(({ name }) => ({ storeName: name, newStore: () => storeFlags(name, randomUUID()) })),
    missing: reasons.flatMap(({ reason }) => (reason === undefined ? [] : [reason])),
  };
}

/** Where servers that are told nothing of a store keep their objects: where STORES names but one, there. */
export function defaultStoreName(): StoreName {
  const [name, ...others] = storeNames();
  return !areStoresChosen() || name === undefined || others.length > 0 ? "sqlite" : name;
}

/** Flags of `postern serve` for that store, none for its own default; the same folder finds the same objects again. */
export function defaultStoreFlags(dataDir: string): readonly string[] {
  if (!areStoresChosen()) return [];
  return storeFlags(defaultStoreName(), createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
}

/** The same for a server that is to find its objects again when it is started anew: on SQLite where others keep them in memory. */
export const durableStoreFlags = (dataDir: string): readonly string[] =>
  defaultStoreName() === "memory" ? ["--store", "sqlite"] : defaultStoreFlags(dataDir);

function reasonAgainst(name: StoreName, durable: boolean): string | undefined {
  if (name === "memory" && durable) return "memory: the objects are gone with the server";
  return name === "etcd" ? whyNoEtcd() : undefined;
}

/** Tests have prefixes of their own in one etcd. */
const IN_SHARED_ETCD = ["--etcd-new-installation", "--etcd-compaction", "always"];

function storeFlags(name: StoreName, id: string): readonly string[] {
  if (name !== "etcd") return ["--store", name];
  const etcd = sharedEtcd();
  if (etcd === undefined) throw new Error("etcd does not run");
  return ["--store", `etcd://${etcd.endpoint}`, "--etcd-prefix", `/postern-${id}`, ...IN_SHARED_ETCD];
}
