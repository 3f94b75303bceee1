// Parses the option --store.

import { parseHostAndPort } from "./rules.ts";

export type StoreAddress =
  | { readonly kind: "memory" }
  /** `path` is "" for the file in the data directory. */
  | { readonly kind: "sqlite"; readonly path: string }
  /** Each endpoint is `host:port`. */
  | { readonly kind: "etcd"; readonly endpoints: readonly string[] };

/** The address, or the reason why it is invalid. */
export function storeAddress(text: string): StoreAddress | { readonly fault: string } {
  if (text === "memory") return { kind: "memory" };
  if (text === "sqlite") return { kind: "sqlite", path: "" };
  if (text.startsWith("sqlite:") && text.length > "sqlite:".length) {
    return { kind: "sqlite", path: text.slice("sqlite:".length) };
  }
  if (text.startsWith("etcd://")) {
    const endpoints = text.slice("etcd://".length).split(",");
    const areComplete = endpoints.every((endpoint) => parseHostAndPort(endpoint)?.port !== undefined);
    return areComplete
      ? { kind: "etcd", endpoints }
      : { fault: "must name etcd endpoints as etcd://host:port,host:port" };
  }
  return { fault: `must be sqlite, sqlite:<file>, memory or etcd://<host:port>, not ${JSON.stringify(text)}` };
}
