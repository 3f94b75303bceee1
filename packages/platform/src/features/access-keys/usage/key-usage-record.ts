// The stored usage of one access key: a record beside the key, so that writes do not conflict.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { textsOf } from "@postern/apimachinery/json/lenient-json";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { type ProxiedEntry, type ScopeEntry, textOfEntry } from "../../authorization/restrictions/scope-entry.ts";

/** Use of one resource: of the management API, or of the cluster that `target` names. */
export type ResourceUse = {
  readonly target?: ProxiedEntry;
  /** Empty: the core group. */
  readonly apiGroup: string;
  /** With its subresource: `pods/log`. */
  readonly resource: string;
  /** Sorted. */
  readonly verbs: readonly string[];
};

export type KeyUsageSummary = {
  /** Milliseconds since the epoch: what was before is not known. */
  readonly since: number;
  readonly entries: readonly ScopeEntry[];
  /** Requests that no entry of a scope opens, such as `list management.postern/ownedaccesskeys`. */
  readonly beyondScopes: readonly string[];
  /** False where there was more of both than is remembered. */
  readonly complete: boolean;
  /** The first of the resources that were used, MAX_USES at most. */
  readonly uses: readonly ResourceUse[];
};

/** The maximum number of entries, and of requests beyond scopes, per key. */
export const MAX_ENTRIES = 50;
/** Resources that are remembered of a key. A proposed scope does not depend on them. */
export const MAX_USES = 100;

/** The same for the same resource of the same API alone. Made for every request. */
export const textOfUse = (target: ScopeEntry | undefined, apiGroup: string, resource: string): string =>
  `${target === undefined ? "" : textOfEntry(target)} ${apiGroup} ${resource}`;

/** Merges what two servers noted, or one server before and after a restart. */
export function mergeUsage(one: KeyUsageSummary, other: KeyUsageSummary): KeyUsageSummary {
  const entries = new Map([...one.entries, ...other.entries].map((entry) => [textOfEntry(entry), entry]));
  const beyond = new Set([...one.beyondScopes, ...other.beyondScopes]);
  const isTooMuch = entries.size > MAX_ENTRIES || beyond.size > MAX_ENTRIES;
  return {
    since: Math.min(one.since, other.since),
    entries: [...entries.values()].slice(0, MAX_ENTRIES),
    beyondScopes: [...beyond].slice(0, MAX_ENTRIES).sort(),
    complete: one.complete && other.complete && !isTooMuch,
    uses: mergeUses(one.uses, other.uses),
  };
}

const keyOfUse = ({ target, apiGroup, resource }: ResourceUse): string => textOfUse(target, apiGroup, resource);

function mergeUses(one: readonly ResourceUse[], other: readonly ResourceUse[]): readonly ResourceUse[] {
  const merged = new Map(one.map((use) => [keyOfUse(use), use]));
  for (const use of other) {
    const known = merged.get(keyOfUse(use));
    const verbs = [...new Set([...(known?.verbs ?? []), ...use.verbs])].sort();
    merged.set(keyOfUse(use), { ...use, verbs });
  }
  return [...merged.values()].slice(0, MAX_USES);
}

/** Whether `known` includes everything in `news`. */
export function coversUsage(known: KeyUsageSummary, news: KeyUsageSummary): boolean {
  const texts = new Set(known.entries.map(textOfEntry));
  return (
    known.since <= news.since &&
    (news.complete || !known.complete) &&
    news.entries.every((entry) => texts.has(textOfEntry(entry)) || !known.complete) &&
    news.beyondScopes.every((request) => known.beyondScopes.includes(request) || !known.complete) &&
    coversUses(known.uses, news.uses)
  );
}

function coversUses(known: readonly ResourceUse[], news: readonly ResourceUse[]): boolean {
  const verbs = new Map(known.map((use) => [keyOfUse(use), use.verbs]));
  return news.every((use) => {
    const noted = verbs.get(keyOfUse(use));
    return noted === undefined ? known.length >= MAX_USES : use.verbs.every((verb) => noted.includes(verb));
  });
}

export const encodeUsage = (uid: string, usage: KeyUsageSummary): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "AccessKeyUsage",
    metadata: { name: uid },
    usage: {
      ...usage,
      entries: usage.entries.map((entry): JsonObject => ({ ...entry })),
      uses: usage.uses.map(({ target, ...use }) => ({
        ...use,
        ...(target === undefined ? {} : { target: { ...target } }),
      })),
    },
  });

export function decodeUsage(object: CachedObject): KeyUsageSummary {
  const usage = object.decode()["usage"];
  const { since, entries, beyondScopes, complete, uses } = isJsonObject(usage) ? usage : {};
  return {
    since: typeof since === "number" ? since : 0,
    entries: isJsonArray(entries) ? entries.flatMap(readEntry) : [],
    beyondScopes: textsOf(beyondScopes),
    complete: complete === true,
    uses: isJsonArray(uses) ? uses.flatMap(readUse) : [],
  };
}

function readUse(value: JsonValue): readonly ResourceUse[] {
  if (!isJsonObject(value)) return [];
  const { target, apiGroup, resource, verbs } = value;
  if (typeof apiGroup !== "string" || typeof resource !== "string") return [];
  const use = { apiGroup, resource, verbs: textsOf(verbs) };
  if (target === undefined) return [use];
  return readEntry(target).flatMap((entry) => (isProxied(entry) ? [{ ...use, target: entry }] : []));
}

const isProxied = (entry: ScopeEntry): entry is ProxiedEntry => entry.list !== "projects" && entry.list !== "roles";

/** None for what a newer release may have written. */
function readEntry(value: JsonValue): readonly ScopeEntry[] {
  if (!isJsonObject(value)) return [];
  const { list, project, virtualCluster, space, cluster, role } = value;
  if (list === "projects" && typeof project === "string") return [{ list, project }];
  if (list === "virtualClusters" && typeof project === "string" && typeof virtualCluster === "string") {
    return [{ list, project, virtualCluster }];
  }
  if (list === "spaces" && typeof project === "string" && typeof space === "string") return [{ list, project, space }];
  if (list === "clusters" && typeof cluster === "string") return [{ list, cluster }];
  if (list === "roles" && (role === "platform-cli" || role === "metrics-reader")) return [{ list, role }];
  return [];
}
