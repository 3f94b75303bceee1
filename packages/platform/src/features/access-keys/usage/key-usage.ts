// Usage of access keys, as far as a narrower scope needs it: bounded, in memory, merged with the store.

import type { PlatformNames } from "@postern/api/platform-names";
import { holdsCredential, redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { PlatformAuthorizer, PlatformDecision, Subject } from "../../authorization/platform-decision.ts";
import { type PlatformRequest, resourceWithSubresource } from "../../authorization/request/platform-request.ts";
import {
  describeRequest,
  type ProxiedEntry,
  proxiedEntry,
  type ScopeEntry,
  scopeEntryFor,
  textOfEntry,
} from "../../authorization/restrictions/scope-entry.ts";
import type { AccessKeyIndex } from "../index/access-key-index.ts";
import { MIN_KEY_LENGTH } from "../secrets/find-keys-in-text.ts";
import { decodeUsage, type KeyUsageSummary, MAX_ENTRIES, MAX_USES, mergeUsage, textOfUse } from "./key-usage-record.ts";

export type KeyUsageDeps = {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byId"> & Partial<Pick<AccessKeyIndex, "isChosenValue">>;
  /** The stored records, by uid. Absent: nothing is stored. */
  readonly records?: ViewPrefix | undefined;
};

type Use = {
  readonly target: ProxiedEntry | undefined;
  readonly apiGroup: string;
  readonly resource: string;
  readonly verbs: Set<string>;
};

type Used = {
  readonly entries: Map<string, ScopeEntry>;
  readonly beyond: Set<string>;
  readonly uses: Map<string, Use>;
  complete: boolean;
  readonly since: number;
  /** Nothing of it is in memory any more, or counts. */
  isDropped: boolean;
};

const MAX_KEYS = 20_000;
/** For names and paths of unbounded length. */
const MAX_TEXT_LENGTH = 300;

/** Nothing is noted of discovery and the like. */
const ALWAYS_OPEN: Used = {
  entries: new Map(),
  beyond: new Set(),
  uses: new Map(),
  complete: true,
  since: 0,
  isDropped: false,
};

export class KeyUsage {
  readonly #deps: KeyUsageDeps;
  readonly #byUid = new Map<string, Used>();
  readonly #forgotten = new Set<string>();
  #unwritten = new Set<string>();
  /** For a key without an entry, its use before this time is unknown. */
  #since: number;
  /** By what let them through: it is of one key and one form of request, so that what was noted with it need not be noted again. */
  readonly #noted = new WeakMap<PlatformDecision, Used>();

  /** `startedAt` in milliseconds since the epoch: earlier use is unknown. */
  constructor(deps: KeyUsageDeps, startedAt: number) {
    this.#deps = deps;
    this.#since = startedAt;
  }

  /** Notes a request that `decision` allowed. Costs a lookup if it is known already. */
  note(request: PlatformRequest, { credential }: Subject, decision?: PlatformDecision): void {
    const { names, keys } = this.#deps;
    if (decision !== undefined && this.#noted.get(decision)?.isDropped === false) return;
    const key = credential === undefined ? undefined : keys.byId(credential.id);
    if (key === undefined) return;
    const entry = scopeEntryFor(request, names);
    if (entry === "always-open" && !request.inner.isResourceRequest) {
      if (decision !== undefined) this.#noted.set(decision, ALWAYS_OPEN);
      return;
    }
    // A client may have put a credential into its path, such as in place of a name.
    if (partsOf(request).some((part) => part.length >= MIN_KEY_LENGTH && keys.isChosenValue?.(part) === true)) return;
    const used = this.#usedBy(key.uid);
    if (decision !== undefined) this.#noted.set(decision, used);
    const described = describeRequest(request);
    const named = entry === undefined || entry === "always-open" ? described : textOfEntry(entry);
    const isRedacted = holdsCredential(described) || holdsCredential(named);
    if (!isRedacted && request.inner.isResourceRequest && noteUse(used.uses, request)) this.#unwritten.add(key.uid);
    if (entry === "always-open") return;
    const scope = isRedacted ? undefined : entry;
    const text = isRedacted ? redactCredentials(described) : named;
    const known = scope === undefined ? used.beyond : used.entries;
    if (known.has(text)) return;
    const fits = known.size < MAX_ENTRIES && text.length <= MAX_TEXT_LENGTH;
    if (!fits && !used.complete) return;
    if (!fits) used.complete = false;
    else if (scope === undefined) used.beyond.add(text);
    else used.entries.set(text, scope);
    this.#unwritten.add(key.uid);
  }

  of(uid: string): KeyUsageSummary {
    const { records } = this.#deps;
    const own = this.noted(uid);
    const stored = records?.view.get(records.prefix + uid);
    if (stored === undefined)
      return own ?? { since: this.#since, entries: [], beyondScopes: [], complete: true, uses: [] };
    const written = decodeUsage(stored);
    return own === undefined ? written : mergeUsage(written, own);
  }

  /** Usage that this server has noted itself; undefined where there is none, or it was forgotten. */
  noted(uid: string): KeyUsageSummary | undefined {
    const used = this.#byUid.get(uid);
    if (used === undefined) return undefined;
    const { since, entries, beyond, complete, uses } = used;
    return {
      since,
      entries: [...entries.values()],
      beyondScopes: [...beyond].sort(),
      complete,
      uses: [...uses.values()].map(({ target, verbs, ...use }) => ({
        ...(target === undefined ? {} : { target }),
        ...use,
        verbs: [...verbs].sort(),
      })),
    };
  }

  /** uids of the keys with something new since they were last taken; `among` these alone. */
  takeUnwritten(among?: readonly string[]): readonly string[] {
    if (among !== undefined) return among.filter((uid) => this.#unwritten.delete(uid));
    const taken = [...this.#unwritten];
    this.#unwritten = new Set();
    return taken;
  }

  /** Puts one back that could not be written. */
  returnUnwritten(uid: string): void {
    if (this.#byUid.has(uid)) this.#unwritten.add(uid);
  }

  /** The key is gone. */
  forget(uid: string): void {
    this.#drop(uid);
    this.#unwritten.delete(uid);
    this.#forgotten.add(uid);
  }

  /** uids of the keys that have gone since they were last taken. */
  takeForgotten(): readonly string[] {
    const taken = [...this.#forgotten];
    this.#forgotten.clear();
    return taken;
  }

  #usedBy(uid: string): Used {
    const known = this.#byUid.get(uid);
    if (known !== undefined) return known;
    if (this.#byUid.size >= MAX_KEYS) this.#makeRoom();
    const used: Used = {
      entries: new Map(),
      beyond: new Set(),
      uses: new Map(),
      complete: true,
      since: this.#since,
      isDropped: false,
    };
    this.#byUid.set(uid, used);
    // Also of a key that was used for nothing that needs a scope: that it is known since then is worth keeping.
    this.#unwritten.add(uid);
    return used;
  }

  #drop(uid: string): void {
    const used = this.#byUid.get(uid);
    if (used !== undefined) used.isDropped = true;
    this.#byUid.delete(uid);
  }

  /** Drops one from memory, preferably one that is in the store. */
  #makeRoom(): void {
    for (const uid of this.#byUid.keys()) {
      if (this.#unwritten.has(uid)) continue;
      this.#drop(uid);
      return;
    }
    const [oldest] = this.#byUid.keys();
    if (oldest === undefined) return;
    // A dropped entry is unknown from now on, its start included.
    this.#drop(oldest);
    this.#unwritten.delete(oldest);
    this.#since = Math.max(this.#since, this.#byUid.values().next().value?.since ?? this.#since);
  }
}

const partsOf = ({ inner: { resource, subresource, namespace, name, path } }: PlatformRequest): readonly string[] => [
  ...[resource, subresource, namespace, name],
  ...path.split("/"),
];

/** Whether there was anything new. */
function noteUse(uses: Map<string, Use>, request: PlatformRequest): boolean {
  const { verb, apiGroup } = request.inner;
  const resource = resourceWithSubresource(request.inner);
  const target = proxiedEntry(request);
  const text = textOfUse(target, apiGroup, resource);
  const known = uses.get(text);
  if (known?.verbs.has(verb) === true) return false;
  if (known !== undefined) known.verbs.add(verb);
  else if (uses.size >= MAX_USES || text.length > MAX_TEXT_LENGTH) return false;
  else uses.set(text, { target, apiGroup, resource, verbs: new Set([verb]) });
  return true;
}

/** The decision point, which also notes what it allows. For the handler chain alone: questions of the server are no use of a key. */
export const recordingUse = (authorizer: PlatformAuthorizer, usage: KeyUsage): Authorizer => ({
  policyVersion: authorizer.policyVersion,
  authorize(attributes) {
    const request = { target: "Management", inner: attributes } as const;
    const decision = authorizer.decide(request, attributes);
    if (decision.verdict === "allow") usage.note(request, attributes, decision);
    return decision;
  },
});
