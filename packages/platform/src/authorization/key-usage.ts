// What access keys have been used for, as far as it matters for how narrow their scope could be. In memory, bounded, since the start.

import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { PlatformNames } from "../platform-names.ts";
import type { Subject } from "./decision.ts";
import type { PlatformRequest } from "./request-target.ts";
import { describeRequest, type ScopeEntry, scopeEntryFor, textOfEntry } from "./scope-entry.ts";

export type KeyUsageSummary = {
  /** Milliseconds since the epoch: what was before is not known. */
  readonly since: number;
  readonly entries: readonly ScopeEntry[];
  /** Requests that no entry of a scope opens, such as `list management.postern/ownedaccesskeys`. */
  readonly beyondScopes: readonly string[];
  /** False where there was more than is remembered. */
  readonly complete: boolean;
};

export type KeyUsage = {
  /** A request that was let through. Costs two look-ups for what is known already. */
  note(request: PlatformRequest, subject: Subject): void;
  of(uid: string): KeyUsageSummary;
};

type Used = { entries: Map<string, ScopeEntry>; beyond: Set<string>; complete: boolean; readonly since: number };

const MAX_KEYS = 20_000;
const MAX_ENTRIES = 50;

export function createKeyUsage(
  { names, keys }: { readonly names: PlatformNames; readonly keys: Pick<AccessKeyIndex, "byId"> },
  startedAt: number,
): KeyUsage {
  const byUid = new Map<string, Used>();
  let since = startedAt;

  const usedBy = (uid: string): Used => {
    const known = byUid.get(uid);
    if (known !== undefined) return known;
    const [oldest] = byUid.keys();
    if (byUid.size >= MAX_KEYS && oldest !== undefined) {
      // Of what was forgotten nothing is known any more: neither when it began.
      byUid.delete(oldest);
      since = Math.max(since, byUid.values().next().value?.since ?? since);
    }
    const used: Used = { entries: new Map(), beyond: new Set(), complete: true, since };
    byUid.set(uid, used);
    return used;
  };

  return {
    note(request, { credential }) {
      const key = credential === undefined ? undefined : keys.byId(credential.id);
      if (key === undefined) return;
      const entry = scopeEntryFor(request, names);
      if (entry === "always-open") return;
      const used = usedBy(key.uid);
      if (entry === undefined) {
        if (used.beyond.size < MAX_ENTRIES) used.beyond.add(describeRequest(request));
        else used.complete &&= used.beyond.has(describeRequest(request));
        return;
      }
      const text = textOfEntry(entry);
      if (used.entries.has(text)) return;
      if (used.entries.size < MAX_ENTRIES) used.entries.set(text, entry);
      else used.complete = false;
    },
    of(uid) {
      const used = byUid.get(uid);
      return {
        since: used?.since ?? since,
        entries: [...(used?.entries.values() ?? [])],
        beyondScopes: [...(used?.beyond ?? [])].sort(),
        complete: used?.complete ?? true,
      };
    },
  };
}
