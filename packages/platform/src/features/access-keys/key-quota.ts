// The maximum number of access keys per owner, per project, and per owner in a project. Keys that count together are written one after another, so that each is counted before
// the next.

import { projectsNamed, type RestrictionNames, restrictionsOf } from "@postern/api/access-key-restrictions";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { exceededQuota, quotaOf } from "@postern/api/project-quotas";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { WriteLimit } from "@postern/apiserver/registry/strategy";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import type { AccessKeyOwner } from "./access-key-owner.ts";
import { ownerOf, sameOwner } from "./access-key-owner.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import { specOf } from "./chosen-values/secret-fields.ts";
import type { AccessKeyIndex } from "./index/access-key-index.ts";

export type KeyQuota = {
  /**
   * For the `limits` of a strategy. `old` is what an update starts from; `refuse` makes the error that says why there may be no further key.
   * Several servers may each let one key more pass at the same moment, and none after they have seen it.
   */
  limitsOf(
    object: OwnedAccessKey,
    old: OwnedAccessKey | undefined,
    refuse: (why: string) => ApiError,
  ): readonly WriteLimit[];
  /** The owner of each key that counts for a project. Stops at `upTo` keys; with `owner` only keys of that owner count. */
  countedIn(
    project: string,
    options?: { readonly owner?: AccessKeyOwner | undefined; readonly upTo?: number },
  ): Promise<readonly AccessKeyOwner[]>;
};

/** Members that count for a project, of a key that is there or is about to be. */
export type CountedKey = Pick<AccessKeyState, "owner" | "groups" | "restrictions">;

/** Whether the owner of a key can use anything in the project that the scope of the key names. */
export type ReachesProject = (key: CountedKey, project: string) => Promise<boolean>;

const OVER: ReadonlySet<string> = new Set(["Expired", "Revoked"]);

export function createKeyQuota(deps: {
  readonly keys: Pick<AccessKeyIndex, "ownedBy" | "usageOf" | "scopedTo" | "whenRead" | "stateOf">;
  /** 0: no limit. */
  readonly maxPerOwner: number;
  readonly lookup: Pick<ObjectLookup, "project">;
  readonly restrictionNames: RestrictionNames;
  readonly reaches: ReachesProject;
}): KeyQuota {
  const { keys, maxPerOwner, lookup, restrictionNames, reaches } = deps;
  /** Keys that have ended for good and are only still shown do not count. */
  const isOver = (key: AccessKeyState): boolean => OVER.has(keys.stateOf(key)?.reason ?? "");

  function* limitsOf(
    object: OwnedAccessKey,
    old: OwnedAccessKey | undefined,
    refuse: (why: string) => ApiError,
  ): Generator<WriteLimit> {
    const owner = ownerOf(object.spec ?? {});
    if (owner === undefined) return;
    const isSameOwner = old !== undefined && sameOwner(owner, ownerOf(old.spec ?? {}));
    if (maxPerOwner > 0 && !isSameOwner) yield ownerLimit(owner, refuse);
    const projectsOf = (key: OwnedAccessKey) => projectsNamed(restrictionsOf(specOf(key), restrictionNames));
    const counted = isSameOwner ? projectsOf(old) : [];
    for (const project of projectsOf(object)) {
      if (!counted.includes(project))
        yield* projectLimits(project, countedKey(object, owner, restrictionNames), refuse);
    }
  }

  function ownerLimit(owner: AccessKeyOwner, refuse: (why: string) => ApiError): WriteLimit {
    const { kind, name } = owner;
    return {
      name: `access keys of ${JSON.stringify([kind, name])}`,
      async check() {
        await keys.whenRead();
        // Most owners have few. Which of their keys have ended takes a look at each.
        if (keys.usageOf(owner).objects < maxPerOwner) return;
        const count = keys.ownedBy(owner).filter((key) => !isOver(key)).length;
        if (count < maxPerOwner) return;
        throw refuse(
          `the ${kind} ${JSON.stringify(name)} has ${count} access keys, and the limit is ${maxPerOwner}: delete keys that are not needed any more`,
        );
      },
    };
  }

  function* projectLimits(project: string, key: CountedKey, refuse: (why: string) => ApiError): Generator<WriteLimit> {
    const { kind, name } = key.owner;
    for (const scope of ["project", "user"] as const) {
      const allowedNow = (): number | undefined => {
        const found = lookup.project(project);
        return found && quotaOf(found, scope, "ownedaccesskeys");
      };
      if (allowedNow() === undefined) continue;
      const owner = scope === "user" ? `${kind} ${JSON.stringify(name)}` : undefined;
      yield {
        name: `access keys of project ${project}${owner === undefined ? "" : `, ${owner}`}`,
        async check() {
          const allowed = allowedNow();
          if (allowed === undefined) return;
          await keys.whenRead();
          // Not all of them count, and which do takes a look at each.
          if (keys.scopedTo(project).length < allowed || !(await reaches(key, project))) return;
          const { length: used } = await countedIn(project, {
            owner: owner === undefined ? undefined : key.owner,
            upTo: allowed,
          });
          if (used < allowed) return;
          const why = exceededQuota(project, "ownedaccesskeys", { used, allowed, owner });
          throw refuse(`spec.scope: ${why}`);
        },
      };
    }
  }

  /**
   * Keys whose owner can use nothing in the project do not count. They grant nothing there, and any user could otherwise use up the quota of
   * a project by naming it in the scopes of their own keys.
   */
  const countedIn: KeyQuota["countedIn"] = async (project, { owner, upTo = Number.POSITIVE_INFINITY } = {}) => {
    await keys.whenRead();
    const counted: AccessKeyOwner[] = [];
    const known = new Map<string, boolean>();
    for (const key of keys.scopedTo(project)) {
      if (counted.length >= upTo) break;
      if (isOver(key) || (owner !== undefined && !sameOwner(key.owner, owner))) continue;
      const holder = JSON.stringify([key.owner, key.groups, key.restrictions?.scope]);
      const reached = known.get(holder) ?? (await reaches(key, project));
      known.set(holder, reached);
      if (reached) counted.push(key.owner);
    }
    return counted;
  };

  return { limitsOf: (...write) => [...limitsOf(...write)], countedIn };
}

const countedKey = (key: OwnedAccessKey, owner: AccessKeyOwner, names: RestrictionNames): CountedKey => ({
  owner,
  groups: key.spec?.groups ?? [],
  restrictions: restrictionsOf(specOf(key), names),
});
