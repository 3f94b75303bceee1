// The stores that servers of end-to-end tests keep their objects in.

import { createHash, randomUUID } from "node:crypto";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { inject } from "vitest";
import { areStoresChosen, type StoreName, storeNames } from "./store-names.ts";

export type StoreUnderTest = {
  readonly storeName: StoreName;
  /** What `postern serve` is told for a store with nothing in it. The same flags find the same objects again. */
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

/** For servers that are told nothing of a store: where STORES names but one, that one. */
export function defaultStoreFlags(dataDir: string): readonly string[] {
  const [name, ...others] = storeNames();
  if (!areStoresChosen() || name === undefined || others.length > 0) return [];
  return storeFlags(name, createHash("sha256").update(dataDir).digest("hex").slice(0, 16));
}

function reasonAgainst(name: StoreName, durable: boolean): string | undefined {
  if (name === "memory" && durable) return "memory: the objects are gone with the server";
  return name === "etcd" ? whyNoEtcd() : undefined;
}

function storeFlags(name: StoreName, id: string): readonly string[] {
  if (name !== "etcd") return ["--store", name];
  const endpoint = inject("etcdEndpoint");
  if (endpoint === undefined) throw new Error("etcd does not run");
  return ["--store", `etcd://${endpoint}`, "--etcd-prefix", `/postern-${id}`];
}
