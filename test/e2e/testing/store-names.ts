// STORES names the stores that end-to-end tests run on, such as STORES=etcd or STORES=memory,sqlite,etcd. Unset, they run on SQLite.

const STORE_NAMES = ["memory", "sqlite", "etcd"] as const;
export type StoreName = (typeof STORE_NAMES)[number];

export const areStoresChosen = (): boolean => process.env["STORES"] !== undefined;

/** Throws where `text`, the value of STORES, names something else. */
export function storeNames(text = process.env["STORES"] ?? "sqlite"): readonly StoreName[] {
  return text.split(",").map((each) => {
    const name = STORE_NAMES.find((known) => known === each.trim());
    if (name === undefined) throw new Error(`STORES: ${each} is none of ${STORE_NAMES.join(", ")}`);
    return name;
  });
}
