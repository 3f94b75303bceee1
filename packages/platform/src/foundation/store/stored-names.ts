// The names of the platform that a store was written with. A server with others would find none of its keys, or take the namespace of one project for
// that of another, so that it does not start (ADR 361).

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import type { Storage } from "@postern/apiserver/storage/storage";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { Configuration } from "../config/configuration.ts";
import { ConfigurationError } from "../config/configuration-error.ts";

/** Outside the prefix of objects: no API shows it. */
const NAMES_KEY = "/platform/names";

const FLAGS = [
  ["domain", "--platform-domain"],
  ["name", "--platform-name"],
  ["projectNamespacePrefix", "--project-namespace-prefix"],
] as const;

type Named = Pick<Configuration, "platform">;

/** Rejects with ConfigurationError where the store was written with other names. Stores of earlier releases have none. */
export async function assertSameNames(storage: Pick<Storage, "get">, { platform }: Named): Promise<void> {
  const entry = await storage.get(NAMES_KEY);
  if (entry === undefined) return;
  const stored = readNames(entry.value);
  const changed = FLAGS.filter(([name]) => stored[name] !== platform[name]);
  if (changed.length === 0) return;
  const list = (textOf: (name: (typeof FLAGS)[number][0]) => unknown): string =>
    changed.map(([name, flag]) => `${flag} ${textOf(name)}`).join(" ");
  throw new ConfigurationError(
    `the store was written with ${list((name) => stored[name])}, and the configuration has ${list((name) => platform[name])}: its keys and projects are found by these names, which cannot be changed, so set the former; nothing was changed`,
  );
}

/** Writes the names where the store has none yet. Rejects with ConfigurationError where it has others. */
export async function keepNames(storage: Pick<Storage, "get" | "create">, configuration: Named): Promise<void> {
  const { domain, name, projectNamespacePrefix } = configuration.platform;
  const value = Buffer.from(JSON.stringify({ domain, name, projectNamespacePrefix }));
  // Another server may have been faster.
  if ((await storage.get(NAMES_KEY)) === undefined) await unlessConflict(storage.create(NAMES_KEY, value));
  await assertSameNames(storage, configuration);
}

function readNames(bytes: Uint8Array): JsonObject {
  const value = parseJson(bytes);
  return isJsonObject(value) ? value : {};
}
