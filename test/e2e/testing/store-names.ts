// STORES names the stores that end-to-end tests run on, such as STORES=etcd or STORES=memory,sqlite,etcd. Unset, the tests that are about
// what stores do run on SQLite and on etcd, each of them once, and all others on SQLite.

const STORE_NAMES = ["memory", "sqlite", "etcd"] as const;
export type StoreName = (typeof STORE_NAMES)[number];

export const areStoresChosen = (): boolean => process.env["STORES"] !== undefined;

/** Throws where `text`, the value of STORES, names something else. */
export function storeNames(text = process.env["STORES"] ?? "sqlite,etcd"): readonly StoreName[] {
  return text.split(",").map((each) => {
    const name = STORE_NAMES.find((known) => known === each.trim());
    if (name === undefined) throw new Error(`STORES: ${each} is none of ${STORE_NAMES.join(", ")}`);
    return name;
  });
}
