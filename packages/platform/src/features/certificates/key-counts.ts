// Counts access keys and certificates for the metrics. Time, owner and ancestors decide what a key opens, so no running
// total of changes would be true: they are counted in slices, beside requests.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { usesRefusal } from "../access-keys/key-uses.ts";
import type { KeyRefusal } from "../access-keys/validity/ready-reasons.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

type KeyCount = {
  readonly state: string;
  readonly type: string;
  readonly ownerKind: string;
  count: number;
};

export type KeyCounts = {
  /** One entry for each combination that has keys. */
  readonly keys: readonly KeyCount[];
  /** Keys that work now and expire within each of the times, in the order of EXPIRY_WINDOWS. */
  readonly expiring: readonly number[];
  readonly liveCertificates: number;
  /** Bytes of the access keys of the owner with the most, by kind of owner. */
  readonly ownedBytes: { readonly [kind in AccessKeyOwner["kind"]]: number };
};

const DAY_MS = 86_400_000;

export const EXPIRY_WINDOWS: readonly { readonly within: string; readonly ms: number }[] = [
  { within: "1d", ms: DAY_MS },
  { within: "7d", ms: 7 * DAY_MS },
  { within: "30d", ms: 30 * DAY_MS },
];

/** Takes about a millisecond. */
const SLICE = 250;
/** So few records are counted again at each scrape. */
const FEW = 1000;
/** More are counted again after this at the earliest. */
const MAX_AGE_MS = 30_000;

/** Resolves with a count of now or of the last scrape but one. Counts at the same moment share one walk. */
export function createKeyCounts(deps: {
  readonly keys: {
    all(): Iterable<AccessKeyState>;
    stateOf(key: AccessKeyState): KeyRefusal | undefined;
    whenRead(): Promise<void>;
  };
  readonly certificates: {
    all(): Iterable<IssuedCertificate>;
    refusalOf(serial: string, instanceUid: string): string | undefined;
  };
  readonly clock: Clock;
}): () => Promise<KeyCounts> {
  const { keys, certificates, clock } = deps;
  let last: { readonly counts: KeyCounts; readonly at: number; readonly records: number } | undefined;
  let running: Promise<KeyCounts> | undefined;

  async function count(): Promise<KeyCounts> {
    await keys.whenRead();
    const byLabel = new Map<string, KeyCount>();
    const owned = new Map<string, number>();
    const ownedBytes = { user: 0, team: 0, subject: 0 };
    const expiring = EXPIRY_WINDOWS.map(() => 0);
    const now = clock.now();
    let records = await inSlices(keys.all(), (key) => {
      const { kind, name } = key.owner;
      const bytes = (owned.get(`${kind} ${name}`) ?? 0) + (key.amount?.bytes ?? 0);
      owned.set(`${kind} ${name}`, bytes);
      ownedBytes[kind] = Math.max(ownedBytes[kind], bytes);
      const refusal = keys.stateOf(key) ?? usesRefusal(key);
      const state = refusal?.reason ?? "Accepted";
      const type = key.type === "" ? "User" : key.type;
      const label = `${state} ${type} ${key.owner.kind}`;
      const known = byLabel.get(label);
      if (known === undefined) byLabel.set(label, { state, type, ownerKind: key.owner.kind, count: 1 });
      else known.count += 1;
      const end = refusal === undefined ? key.expiresAt : undefined;
      if (end === undefined) return;
      EXPIRY_WINDOWS.forEach(({ ms }, at) => {
        if (end - now <= ms) expiring[at] = (expiring[at] ?? 0) + 1;
      });
    });
    let liveCertificates = 0;
    // Certificates of the moment: those that come meanwhile are not waited for.
    records += await inSlices([...certificates.all()], ({ serial, instanceUid }) => {
      if (certificates.refusalOf(serial, instanceUid) === undefined) liveCertificates += 1;
    });
    const counts = { keys: [...byLabel.values()], expiring, liveCertificates, ownedBytes };
    last = { counts, at: clock.elapsed(), records };
    return counts;
  }

  /** No callback resets it: an error there would be that of every later scrape. */
  const countAlone = async () => {
    try {
      return await count();
    } finally {
      running = undefined;
    }
  };

  return async () => {
    if (last !== undefined && last.records > FEW && clock.elapsed() - last.at < MAX_AGE_MS) return last.counts;
    running ??= countAlone();
    if (last === undefined || last.records <= FEW) return await running;
    // The next scrape reports the error and starts again.
    running.catch(() => {});
    return last.counts;
  };
}

/** Returns how many there were. */
async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<number> {
  let visited = 0;
  for (const item of items) {
    if (visited > 0 && visited % SLICE === 0) await nextTurn();
    work(item);
    visited++;
  }
  return visited;
}
