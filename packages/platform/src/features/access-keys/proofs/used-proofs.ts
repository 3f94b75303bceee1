// DPoP proofs that were used once, while their nonce is accepted (RFC 9449, section 11.1). In memory of each server; its first thread keeps them for all.

import { createHash } from "node:crypto";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";

export type UsedProofs = {
  /** False for a proof that was taken before; undefined where no more are remembered for its owner, or for all. */
  take(proof: UsedProof): Awaitable<boolean | undefined>;
};

export type OwnUsedProofs = { take(proof: UsedProof): boolean | undefined };

export type UsedProof = {
  readonly period: number;
  /** The period of the clock. */
  readonly now: number;
  /** All proofs of the keys of one owner count together. */
  readonly owner: string;
  readonly thumbprint: string;
  readonly id: string;
};

/** In a period: 166 requests a second. */
const MAX_OF_OWNER = 20_000;
/** In a period: about 10 MB. Above it, owners with less than an equal share of it go on. */
const MAX_OF_ALL = 100_000;

type Period = { readonly ids: Set<string>; readonly owners: Map<string, number> };

export function createUsedProofs(limits = { owner: MAX_OF_OWNER, all: MAX_OF_ALL }): OwnUsedProofs {
  const periods = new Map<number, Period>();
  return {
    take({ period, now, owner, thumbprint, id }) {
      for (const each of periods.keys()) if (Math.abs(now - each) > 1) periods.delete(each);
      const known: Period = periods.get(period) ?? { ids: new Set(), owners: new Map() };
      periods.set(period, known);
      const { ids, owners } = known;
      const hash = createHash("sha256").update(`${thumbprint}\n${id}`).digest("base64").slice(0, 24);
      if (ids.has(hash)) return false;
      const count = owners.get(owner) ?? 0;
      if (count >= (ids.size < limits.all ? limits.owner : limits.all / (owners.size + 1))) return undefined;
      ids.add(hash);
      owners.set(owner, count + 1);
      return true;
    },
  };
}
