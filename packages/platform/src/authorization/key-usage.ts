// What access keys have been used for, as far as it matters for how narrow their scope could be: noted in memory, bounded, and put
// together with what is in the store.

import type { ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { PlatformNames } from "../platform-names.ts";
import type { Subject } from "./decision.ts";
import { decodeUsage, type KeyUsageSummary, MAX_ENTRIES, mergeUsage } from "./key-usage-record.ts";
import type { PlatformRequest } from "./request-target.ts";
import { describeRequest, type ScopeEntry, scopeEntryFor, textOfEntry } from "./scope-entry.ts";

export type KeyUsage = {
  /** A request that was let through. Of what is known already it costs two look-ups and a short text. */
  note(request: PlatformRequest, subject: Subject): void;
  of(uid: string): KeyUsageSummary;
  /** What this server has noted itself; undefined where that is nothing, or was forgotten. */
  noted(uid: string): KeyUsageSummary | undefined;
  /** uids of the keys with something new since they were last taken. */
  takeUnwritten(): readonly string[];
  /** Puts one back that could not be written. */
  returnUnwritten(uid: string): void;
  /** The key is gone. */
  forget(uid: string): void;
  /** uids of the keys that have gone since they were last taken. */
  takeForgotten(): readonly string[];
};

export type KeyUsageOptions = {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  /** Of what is written, by uid; absent: nothing is. */
  readonly records?: ViewPrefix | undefined;
};

type Used = { entries: Map<string, ScopeEntry>; beyond: Set<string>; complete: boolean; readonly since: number };

const MAX_KEYS = 20_000;
/** Of names and paths that nobody has bounded before. */
const MAX_TEXT_LENGTH = 300;

export function createKeyUsage({ names, keys, records }: KeyUsageOptions, startedAt: number): KeyUsage {
  const byUid = new Map<string, Used>();
  const forgotten = new Set<string>();
  let unwritten = new Set<string>();
  let since = startedAt;

  const usedBy = (uid: string): Used => {
    const known = byUid.get(uid);
    if (known !== undefined) return known;
    if (byUid.size >= MAX_KEYS) forgetOne();
    const used: Used = { entries: new Map(), beyond: new Set(), complete: true, since };
    byUid.set(uid, used);
    // Also of a key that was used for nothing that needs a scope: that it is known since then is worth keeping.
    unwritten.add(uid);
    return used;
  };

  /** Preferably one that is in the store. */
  const forgetOne = (): void => {
    for (const uid of byUid.keys()) {
      if (unwritten.has(uid)) continue;
      byUid.delete(uid);
      return;
    }
    const [oldest] = byUid.keys();
    if (oldest === undefined) return;
    // Of what was forgotten nothing is known any more: neither when it began.
    byUid.delete(oldest);
    unwritten.delete(oldest);
    since = Math.max(since, byUid.values().next().value?.since ?? since);
  };

  const add = (uid: string, used: Used, text: string, put: () => void, size: number): void => {
    const fits = size < MAX_ENTRIES && text.length <= MAX_TEXT_LENGTH;
    if (!fits && !used.complete) return;
    if (fits) put();
    else used.complete = false;
    unwritten.add(uid);
  };

  const noted = (uid: string): KeyUsageSummary | undefined => {
    const used = byUid.get(uid);
    return used === undefined
      ? undefined
      : {
          since: used.since,
          entries: [...used.entries.values()],
          beyondScopes: [...used.beyond].sort(),
          complete: used.complete,
        };
  };

  return {
    note(request, { credential }) {
      const key = credential === undefined ? undefined : keys.byId(credential.id);
      if (key === undefined) return;
      const entry = scopeEntryFor(request, names);
      if (entry === "always-open") return;
      const used = usedBy(key.uid);
      const text = entry === undefined ? describeRequest(request) : textOfEntry(entry);
      if (entry === undefined) {
        if (!used.beyond.has(text)) add(key.uid, used, text, () => used.beyond.add(text), used.beyond.size);
      } else if (!used.entries.has(text)) {
        add(key.uid, used, text, () => used.entries.set(text, entry), used.entries.size);
      }
    },
    of(uid) {
      const own = noted(uid);
      const stored = records?.view.get(records.prefix + uid);
      if (stored === undefined) return own ?? { since, entries: [], beyondScopes: [], complete: true };
      const written = decodeUsage(stored);
      return own === undefined ? written : mergeUsage(written, own);
    },
    noted,
    takeUnwritten() {
      const taken = [...unwritten];
      unwritten = new Set();
      return taken;
    },
    returnUnwritten(uid) {
      if (byUid.has(uid)) unwritten.add(uid);
    },
    forget(uid) {
      byUid.delete(uid);
      unwritten.delete(uid);
      forgotten.add(uid);
    },
    takeForgotten() {
      const taken = [...forgotten];
      forgotten.clear();
      return taken;
    },
  };
}
