// The names of the platform that a store was written with. A server with others would find none of its keys, or take the namespace of one project for
// that of another, so that it does not start (ADR 361).

import { MANAGEMENT } from "@postern/api/platform-names";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
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

/** Rejects with ConfigurationError where the store was written with other names. In stores of earlier releases, its objects show them. */
export async function assertSameNames(storage: Pick<Storage, "get" | "list">, { platform }: Named): Promise<void> {
  const entry = await storage.get(NAMES_KEY);
  const stored = entry === undefined ? await namesOfObjects(storage, platform) : readNames(entry.value);
  const changed = FLAGS.filter(([name]) => stored[name] !== platform[name]);
  if (changed.length === 0) return;
  const list = (textOf: (name: (typeof FLAGS)[number][0]) => unknown): string =>
    changed.map(([name, flag]) => `${flag} ${textOf(name)}`).join(" ");
  throw new ConfigurationError(
    `the store was written with ${list((name) => stored[name])}, and the configuration has ${list((name) => platform[name])}: its keys and projects are found by these names, which cannot be changed, so set the former; nothing was changed`,
  );
}

/** Writes the names where the store has none yet. Rejects with ConfigurationError where it has others. */
export async function keepNames(
  storage: Pick<Storage, "get" | "list" | "create">,
  configuration: Named,
): Promise<void> {
  await assertSameNames(storage, configuration);
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

const OBJECTS = `/registry/${MANAGEMENT}/`;
const ROLES = `${OBJECTS}rbac.authorization.k8s.io/clusterroles/`;
const NAMESPACES = `${OBJECTS}core/namespaces/`;
/** A role of each release. */
const ROLE = ":project-viewer";
const AT_MOST = { limit: 1_000, remaining: "any" } as const;

/** Those of the configuration, but for each where the objects of the store show others alone. */
async function namesOfObjects(storage: Pick<Storage, "list">, platform: Named["platform"]): Promise<JsonObject> {
  const keysBelow = async (prefix: string) => (await storage.list(prefix, AT_MOST)).entries;
  const nameIn = ({ key }: { readonly key: string }, prefix: string): string => key.slice(prefix.length);
  const group = `${OBJECTS}management.`;
  const hasOwn = (await storage.list(`${group}${platform.domain}/`, { limit: 1, remaining: "any" })).entries.length > 0;
  const [other] = hasOwn ? [] : (await storage.list(group, { limit: 1, remaining: "any" })).entries;
  const domain = other === undefined ? platform.domain : (nameIn(other, group).split("/")[0] ?? "");
  const names = (await keysBelow(ROLES))
    .map((entry) => nameIn(entry, ROLES))
    .flatMap((role) => (role.endsWith(ROLE) ? [role.slice(0, -ROLE.length)] : []));
  const prefixes = (await keysBelow(NAMESPACES)).flatMap((entry) => {
    const project = CachedObject.fromEntry(entry).decode().metadata.labels?.[`${domain}/project`] ?? "";
    const name = nameIn(entry, NAMESPACES);
    return project !== "" && name.endsWith(project) ? [name.slice(0, -project.length)] : [];
  });
  const shown = (own: string, found: readonly string[]): string => (found.includes(own) ? own : (found[0] ?? own));
  return {
    domain,
    name: shown(platform.name, names),
    projectNamespacePrefix: shown(platform.projectNamespacePrefix, prefixes),
  };
}
