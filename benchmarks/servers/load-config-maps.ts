// Fills the database of a stopped server with config maps, far faster than requests could.

import { randomUUID } from "node:crypto";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { fillStore } from "./fill-store.ts";

const PREFIX = "/registry/management/core/configmaps/default/";

/** About as large as an access key. */
export async function loadConfigMaps(path: string, count: number): Promise<void> {
  await using storage = await openSqliteStorage({ path });
  const creationTimestamp = formatTimestamp(Date.now());
  const encodedMap = (name: string): Uint8Array =>
    encodeStoredValue({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: "default", uid: randomUUID(), creationTimestamp },
      data: { text: "x".repeat(900) },
    });
  await fillStore(storage, count, (number) => {
    const name = `many-${String(number).padStart(8, "0")}`;
    return { key: PREFIX + name, value: encodedMap(name) };
  });
}
