// Budgets of the management API: projects account for the objects in their namespaces, users and teams for their access keys (ADR 156).

import type { PlatformNames } from "@postern/api/platform-names";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import { accountOfOwner, ownerOf } from "../access-keys/access-key-owner.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import {
  type Budget,
  budgetedStorage,
  insufficientStorageError,
  limitedBudget,
  PendingWrites,
} from "./budgeted-storage.ts";
import { residentBytes } from "./memory-limit.ts";

export type ManagementBudgets = {
  /** Refuses writes for which there is no room. */
  readonly storage: Storage;
  ofProject(project: string): AccountUsage;
  /** Undefined soon after a start, until all keys have been read. */
  ofOwner(owner: AccessKeyOwner): AccountUsage | undefined;
  /** The part of its limit that the fullest project uses. */
  readonly fullestProject: number;
  /** Bytes of the access keys of one owner. */
  readonly ownerBytes: number;
  /** Memory for everything outside embedded clusters. */
  readonly usedBytes: number;
  readonly limitBytes: number;
};

export type AccountUsage = { readonly used: StoredAmount; readonly limit: StoredAmount };

const readOwner = createMemberReader({ spec: { user: true, team: true, subject: true } });
/** Every user may create access keys, and reads what they open at each request: 1,000 rules fit. */
export const MAX_KEY_BYTES = 256 << 10;
/** The limit of etcd's requests, so that every store takes the same objects. */
export const MAX_OBJECT_BYTES = 1536 << 10;

const NONE: readonly Budget[] = [];
/** Owners whose budgets are remembered. */
const MAX_OWNERS = 1_000;

export function createManagementBudgets(deps: {
  readonly storage: Storage;
  readonly cache: Pick<WatchCache, "view" | "waitFor" | "usage">;
  /** Locks that all threads share. Absent: there is one thread. */
  readonly limitLocks?: LimitLocks | undefined;
  readonly composition: string;
  /** The prefix of `ownedaccesskeys` in the store. */
  readonly accessKeysPrefix: string;
  readonly keys: Pick<AccessKeyIndex, "usageOf" | "whenRead" | "isRead">;
  readonly names: Pick<PlatformNames, "projectOf" | "projectNamespace">;
  /** The project's own limits. */
  readonly quotaOf: (project: string) => Partial<StoredAmount> | undefined;
  readonly limits: { readonly project: StoredAmount; readonly ownerBytes: number; readonly platformBytes: number };
  readonly onRefused: (scope: "projects" | "access-keys") => void;
}): ManagementBudgets {
  const { storage, cache, limitLocks, composition, accessKeysPrefix, keys, names, limits, onRefused } = deps;
  const { usage } = cache;
  const pending = new PendingWrites(usage);
  const usedBytes = (): number => residentBytes(usage.of(composition));

  const limitOfProject = (name: string): StoredAmount => ({ ...limits.project, ...deps.quotaOf(name) });
  const usedByProject = (name: string): StoredAmount => usage.inNamespace(composition, names.projectNamespace(name));
  /** The number of keys has a limit of its own, which does not count keys that have ended. */
  const limitOfOwner: StoredAmount = { objects: Number.POSITIVE_INFINITY, bytes: limits.ownerBytes };

  /** No account may have more than is left: the largest are refused first, and the others have room. */
  const platformBudget = (who: string, used: () => StoredAmount): Budget => ({
    account: "platform",
    check(growth, inProgress) {
      const added = residentBytes(growth);
      const free = limits.platformBytes - usedBytes() - residentBytes(inProgress) - added;
      if (residentBytes(used()) + added <= free) return;
      throw insufficientStorageError(
        `the memory of this server for objects of the platform is full: ${usedBytes().toFixed(0)} of ${limits.platformBytes} bytes are used, and ${who} may have as much as is free; delete what is not needed any more, or give the server more memory (--memory-limit-mib)`,
      );
    },
  });

  const counting = (scope: "projects" | "access-keys", budget: Budget): Budget => ({
    ...budget,
    check(growth, inProgress) {
      try {
        budget.check(growth, inProgress);
      } catch (error) {
        onRefused(scope);
        throw error;
      }
    },
  });

  function projectBudgets(name: string): readonly Budget[] {
    const used = () => usedByProject(name);
    const own = limitedBudget(
      `project ${name}`,
      used,
      () => limitOfProject(name),
      (has, limit) =>
        `project ${JSON.stringify(name)} is full: it has ${has.objects} objects of ${limit.objects} (storage.objects) and ${has.bytes} bytes of ${limit.bytes} (storage.bytes) outside its virtual clusters; delete some, or raise spec.quotas.project of the project`,
    );
    return [own, platformBudget(`project ${JSON.stringify(name)}`, used)].map((each) => counting("projects", each));
  }

  /** Each write of a key asks for them, and an update twice. */
  const byOwner = new Map<string, readonly Budget[]>();

  function ownerBudgets(owner: AccessKeyOwner): readonly Budget[] {
    const account = accountOfOwner(owner);
    const budgets = byOwner.get(account) ?? makeOwnerBudgets(owner, account);
    if (byOwner.size >= MAX_OWNERS) byOwner.clear();
    byOwner.set(account, budgets);
    return budgets;
  }

  function makeOwnerBudgets(owner: AccessKeyOwner, account: string): readonly Budget[] {
    const used = () => keys.usageOf(owner);
    const who = `the ${owner.kind} ${JSON.stringify(owner.name)}`;
    const own = limitedBudget(
      account,
      used,
      () => limitOfOwner,
      (has, limit) =>
        `${who} has ${has.objects} access keys with ${has.bytes} bytes, and the limit is ${limit.bytes} bytes: delete keys that are not needed any more`,
    );
    return [own, platformBudget(who, used)].map((each) => counting("access-keys", each));
  }

  function budgetsOf(object: CachedObject): readonly Budget[] {
    const { key } = object;
    if (key.startsWith(accessKeysPrefix)) {
      // The schema of access keys has checked it.
      const { spec } = object.read(readOwner) as { readonly spec?: Parameters<typeof ownerOf>[0] };
      const owner = ownerOf(spec ?? {});
      return owner === undefined ? NONE : ownerBudgets(owner);
    }
    const [, , , , , namespace, name] = key.split("/");
    const project = namespace === undefined || name === undefined ? undefined : names.projectOf(namespace);
    return project === undefined ? NONE : projectBudgets(project);
  }

  return {
    storage: budgetedStorage({
      storage,
      cache,
      limitLocks,
      pending,
      budgetsOf,
      maxBytesOf: (key) => (key.startsWith(accessKeysPrefix) ? MAX_KEY_BYTES : MAX_OBJECT_BYTES),
      whenCounted: (key) => (keys.isRead || !key.startsWith(accessKeysPrefix) ? undefined : keys.whenRead()),
    }),
    ofProject: (name) => ({ used: usedByProject(name), limit: limitOfProject(name) }),
    ofOwner: (owner) => (keys.isRead ? { used: keys.usageOf(owner), limit: limitOfOwner } : undefined),
    get fullestProject() {
      let fullest = 0;
      for (const [namespace, used] of usage.namespaces(composition)) {
        const project = names.projectOf(namespace);
        if (project !== undefined) fullest = Math.max(fullest, filled({ used, limit: limitOfProject(project) }));
      }
      return fullest;
    },
    ownerBytes: limits.ownerBytes,
    limitBytes: limits.platformBytes,
    get usedBytes() {
      return usedBytes();
    },
  };
}

/** For columns of tables: `1.5Mi/64Mi`; empty if it is not known. */
export const shownUsage = (usage: AccountUsage | undefined): string =>
  usage === undefined ? "" : `${mebibytes(usage.used.bytes)}/${mebibytes(usage.limit.bytes)}`;

/** Size of the access keys of a user or team. */
export const keysColumn = (kind: "user" | "team", budgets: Pick<ManagementBudgets, "ofOwner">): PrinterColumn => ({
  name: "Keys",
  type: "string",
  description: `Size of the access keys of the ${kind}, and the limit.`,
  value: ({ metadata }) => shownUsage(budgets.ofOwner({ kind, name: metadata.name ?? "" })),
});

/** The part of the limit that is used, of objects or of bytes. A limit of 0 is full. */
export function filled({ used, limit }: AccountUsage): number {
  const part = (has: number, of: number): number => (of > 0 ? has / of : 1);
  return Math.max(part(used.objects, limit.objects), part(used.bytes, limit.bytes));
}

/** Less than a mebibyte is shown in kibibytes: 0Mi would read as nothing. */
const mebibytes = (bytes: number): string =>
  bytes > 0 && bytes < 1 << 20 ? `${Math.ceil(bytes / 1024)}Ki` : `${Number((bytes / (1 << 20)).toFixed(1))}Mi`;
