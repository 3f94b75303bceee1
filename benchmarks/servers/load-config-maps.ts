// Fills the database of a stopped server with config maps, far faster than requests could make them.

import { randomUUID } from "node:crypto";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";

const PREFIX = "/registry/management/core/configmaps/default/";
/** Writes under way at once: the store commits many together. */
const IN_FLIGHT = 4_000;

/** Of about as many bytes as an access key. */
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
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      const name = `many-${String(next++).padStart(8, "0")}`;
      await storage.create(PREFIX + name, encodedMap(name));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}
