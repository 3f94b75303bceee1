// Long-running requests with the decisions that allowed them. If their inputs change, the decisions are made again, in slices of a few milliseconds; a
// request ends once a decision denies it.

import { type ApiError, forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { Clock, Scheduler } from "../runtime/clock.ts";
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from "./authorizer.ts";
import type { PolicyVersion } from "./policy-version.ts";

/** A decision in favour of a request that lasts. */
export type RecordedDecision = {
  readonly policyVersion: PolicyVersion;
  /** The version of the rights from before it was made. */
  readonly decidedAt: number;
  /** Makes it again. One that throws is a no. */
  readonly holds: () => boolean | Promise<boolean>;
  /** Ends what it let begin. Absent: the whole request, as one that is forbidden. */
  readonly onLost?: () => void;
};

/** A request that lasts. */
export type LongRunningRequest = {
  keep(decision: RecordedDecision): void;
  /** Asked before something is sent: whether no decision has been lost. Costs a comparison each where nothing has changed. */
  isAllowed(): boolean;
};

/** How long requests wait for decisions before they continue, while more are pending. */
const SLICE_MS = 4;
/** Decisions between two looks at the clock. */
const STRIDE = 16;

type Kept = RecordedDecision & { readonly request: Entry; checkedAt: number };
type Entry = { readonly end: (reason: ApiError) => void; readonly decisions: Kept[]; isOver: boolean };
/** All decisions that follow from the same. */
type Group = { readonly policyVersion: PolicyVersion; readonly decisions: Set<Kept>; readonly following: Disposable };

export class LongRunningRequests implements Disposable {
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #groups = new Map<PolicyVersion, Group>();
  readonly #changed = new Set<Group>();
  #outdated: Generator<Kept, undefined> | undefined;
  #pending: Disposable | undefined;

  constructor({ clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler }) {
    this.#clock = clock;
    this.#scheduler = scheduler;
  }

  /** Decisions that are kept. */
  get size(): number {
    let size = 0;
    for (const { decisions } of this.#groups.values()) size += decisions.size;
    return size;
  }

  /** `end` is called once at most, and not after the handle is disposed. */
  begin(end: (reason: ApiError) => void): LongRunningRequest & Disposable {
    const entry: Entry = { end, decisions: [], isOver: false };
    return {
      keep: (decision) => this.#keep(entry, decision),
      isAllowed() {
        for (const kept of entry.decisions) if (kept.checkedAt !== kept.policyVersion.version) recheck(kept);
        return !entry.isOver;
      },
      [Symbol.dispose]: () => {
        entry.isOver = true;
        for (const kept of entry.decisions) this.#forget(kept);
      },
    };
  }

  [Symbol.dispose](): void {
    this.#pending?.[Symbol.dispose]();
    for (const { following } of this.#groups.values()) following[Symbol.dispose]();
    this.#groups.clear();
    this.#changed.clear();
  }

  #keep(request: Entry, decision: RecordedDecision): void {
    if (request.isOver) return;
    const kept: Kept = { ...decision, request, checkedAt: decision.decidedAt };
    const group = this.#groups.get(decision.policyVersion) ?? this.#follow(decision.policyVersion);
    group.decisions.add(kept);
    request.decisions.push(kept);
    // PolicyVersion may have changed while it was being decided.
    if (kept.checkedAt !== decision.policyVersion.version) this.#note(group);
  }

  #follow(policyVersion: PolicyVersion): Group {
    const group: Group = {
      policyVersion,
      decisions: new Set(),
      following: policyVersion.onChange(() => this.#note(group)),
    };
    this.#groups.set(policyVersion, group);
    return group;
  }

  #forget(kept: Kept): void {
    const group = this.#groups.get(kept.policyVersion);
    if (group === undefined) return;
    group.decisions.delete(kept);
    if (group.decisions.size > 0) return;
    group.following[Symbol.dispose]();
    this.#groups.delete(kept.policyVersion);
    this.#changed.delete(group);
  }

  #note(group: Group): void {
    this.#changed.add(group);
    this.#pending ??= this.#scheduler.schedule(0, () => this.#decideSlice());
  }

  #decideSlice(): void {
    this.#outdated ??= this.#listOutdated();
    const startedAt = this.#clock.elapsed();
    for (let count = 1; ; count++) {
      const next = this.#outdated.next();
      if (next.done === true) break;
      recheck(next.value);
      if (count % STRIDE !== 0 || this.#clock.elapsed() - startedAt < SLICE_MS) continue;
      this.#pending = this.#scheduler.schedule(SLICE_MS, () => this.#decideSlice());
      return;
    }
    this.#outdated = undefined;
    this.#pending = undefined;
  }

  /** A Set iterates over members added meanwhile: the loop ends when everything is decided by the newest permissions. */
  *#listOutdated(): Generator<Kept, undefined> {
    for (const group of this.#changed) {
      this.#changed.delete(group);
      for (const kept of group.decisions) if (kept.checkedAt !== kept.policyVersion.version) yield kept;
    }
  }
}

function recheck(kept: Kept): void {
  kept.checkedAt = kept.policyVersion.version;
  try {
    const held = kept.holds();
    if (typeof held === "boolean") {
      if (!held) lose(kept);
      return;
    }
    held.then(
      (stillHeld) => void (stillHeld || lose(kept)),
      () => lose(kept),
    );
  } catch {
    lose(kept);
  }
}

function lose({ request, onLost }: Kept): void {
  if (request.isOver) return;
  if (onLost !== undefined) {
    onLost();
    return;
  }
  request.isOver = true;
  request.end(forbiddenPathError("the permissions of this request were revoked"));
}

/** Decides, and again for as long as the request lasts; `open` is undefined for one that does not. */
export function authorizeWhileOpen(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
  open: LongRunningRequest | undefined,
): Awaitable<AuthorizationDecision> {
  const { policyVersion } = authorizer;
  if (open === undefined || policyVersion === undefined) return authorizer.authorize(attributes);
  const decidedAt = policyVersion.version;
  const holds = (): Awaitable<boolean> => whenDone(authorizer.authorize(attributes), isAllow);
  return whenDone(authorizer.authorize(attributes), (decision) => {
    if (isAllow(decision)) open.keep({ policyVersion, decidedAt, holds });
    return decision;
  });
}

const isAllow = ({ verdict }: AuthorizationDecision): boolean => verdict === "allow";
