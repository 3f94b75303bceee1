// How many access keys one owner may have. The keys of an owner are made one after another, so that each is counted before the next.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { OwnedAccessKey } from "../api/owned-access-key.ts";
import type { AccessKeyIndex } from "./access-key-index.ts";
import { ownerOf, sameOwner } from "./access-key-owner.ts";
import type { AccessKeyOwner } from "./access-key-state.ts";

export type KeyQuota = {
  /** Runs a write in the course of which the quota is asked: the owner's turn that is taken then ends with the write. */
  during<T>(context: RequestContext, write: () => Promise<T>): Promise<T>;
  /**
   * Why the owner may have no further key; undefined when it may. `old` is what an update starts from. Waits until no other key of the
   * owner is being made. Several servers may each let one key more pass at the same moment, and none after they have seen it.
   */
  faultOf(
    object: OwnedAccessKey,
    old: OwnedAccessKey | undefined,
    context: RequestContext,
  ): Promise<string | undefined>;
};

export type KeyQuotaOptions = {
  readonly keys: Pick<AccessKeyIndex, "ownedBy" | "whenRead" | "stateOf">;
  /** 0: no limit. */
  readonly maxPerOwner: number;
  /** Makes everything that the store has acknowledged known to `keys`. */
  readonly refresh: () => Promise<unknown>;
};

const OVER: ReadonlySet<string> = new Set(["Expired", "Revoked"]);

/** What a write holds: the owner whose turn it has, and how to give it back. */
type Turn = { readonly owner: AccessKeyOwner; readonly end: () => void };

export function createKeyQuota({ keys, maxPerOwner, refresh }: KeyQuotaOptions): KeyQuota {
  const writes = new WeakMap<RequestContext, Turn | undefined>();
  /** By owner: resolved when the last of those who wait has had its turn. */
  const queues = new Map<string, Promise<void>>();

  const takeTurn = async (owner: AccessKeyOwner): Promise<Turn> => {
    const name = JSON.stringify([owner.kind, owner.name]);
    const before = queues.get(name);
    let end = (): void => {};
    const own = new Promise<void>((resolve) => {
      end = resolve;
    });
    const queue = before === undefined ? own : before.then(() => own);
    queues.set(name, queue);
    await before;
    return {
      owner,
      end() {
        if (queues.get(name) === queue) queues.delete(name);
        end();
      },
    };
  };

  /** A write may be prepared again, after a conflict: it keeps the turn that it has. */
  const awaitTurn = async (owner: AccessKeyOwner, context: RequestContext): Promise<void> => {
    const turn = writes.get(context);
    if (!writes.has(context) || sameOwner(turn?.owner, owner)) return;
    turn?.end();
    writes.set(context, undefined);
    writes.set(context, await takeTurn(owner));
  };

  return {
    async during(context, write) {
      if (maxPerOwner === 0) return await write();
      writes.set(context, undefined);
      try {
        return await write();
      } catch (error) {
        // It may have been stored before it failed, as when the client went away: the next one has to count it.
        if (writes.get(context) !== undefined) await refresh().catch(() => {});
        throw error;
      } finally {
        writes.get(context)?.end();
        writes.delete(context);
      }
    },

    async faultOf({ spec }, old, context) {
      if (maxPerOwner === 0) return undefined;
      const owner = ownerOf(spec ?? {});
      if (owner === undefined || (old !== undefined && sameOwner(owner, ownerOf(old.spec ?? {})))) return undefined;
      await keys.whenRead();
      await awaitTurn(owner, context);
      // What is over for good and only still shown takes no place.
      const count = keys.ownedBy(owner).filter((key) => !OVER.has(keys.stateOf(key)?.reason ?? "")).length;
      if (count < maxPerOwner) return undefined;
      return `the ${owner.kind} ${JSON.stringify(owner.name)} has ${count} access keys, and the server allows ${maxPerOwner}: delete those that are not needed any more`;
    },
  };
}
