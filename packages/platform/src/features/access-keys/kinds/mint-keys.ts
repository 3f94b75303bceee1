// Creates access keys that have no manifest: those of kubeconfigs, of control planes, and the first one.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { forbiddenRequestError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ControllerAudit } from "@postern/apiserver/chain/controller-audit";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createSystemContext } from "@postern/apiserver/context/system-context";
import { deleteRecorded } from "@postern/apiserver/controllers/controlled-objects";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeys } from "../feature.ts";
import type { IssuedGrant } from "../issued-grants.ts";
import type { MintAccessKey, MintControlPlaneKey, MintedKey, RevokeAccessKey } from "../mint-access-key.ts";
import { ownedAccessKeyKind } from "./owned-access-keys/index.ts";

type KeyDraft = {
  readonly metadata: KubeObject["metadata"];
  readonly spec: NonNullable<OwnedAccessKey["spec"]>;
};

export type KeyMint = {
  readonly mintAccessKey: MintAccessKey;
  readonly mintControlPlaneKey: MintControlPlaneKey;
  readonly revoke: RevokeAccessKey;
  /** Makes the key of any spec under a name of its own, or a generated one. */
  readonly mint: (object: KeyDraft, signal: AbortSignal) => Promise<string>;
  /** Makes a key that a trust rule, an identity provider or another key gives. */
  readonly mintGranted: (object: KeyDraft, issued: IssuedGrant, signal: AbortSignal) => Promise<MintedKey>;
};

export function createKeyMint(
  { names, own, runtime: { clock } }: Pick<Foundation, "names" | "own" | "runtime">,
  { index: keys, grants }: Pick<AccessKeys, "index" | "grants">,
  audit: ControllerAudit,
): KeyMint {
  const { group, version, kind, plural } = ownedAccessKeyKind(names);
  const contextOf = (verb: string, name: string, signal: AbortSignal) =>
    createSystemContext({ verb, apiGroup: group, apiVersion: version, resource: plural, name }, { clock, signal });

  const create = async ({ metadata, spec }: KeyDraft, context: RequestContext): Promise<MintedKey> => {
    const object = { apiVersion: `${group}/${version}`, kind, metadata, spec };
    const created = await own("OwnedAccessKey").genericStore.create(context, "", object, { dryRun: false });
    // The answer to a create is the one place that shows the key.
    const { metadata: named, spec: shown, status } = created.decode() as OwnedAccessKey;
    if (shown?.key === undefined) throw new Error("the store did not return the key that was created");
    const { name = "", uid = "" } = named;
    return { key: shown.key, name, uid, expiresAt: parseTimestamp(status?.expirationTimestamp ?? "") };
  };
  const mint: KeyMint["mint"] = async (draft, signal) =>
    (await create(draft, contextOf("create", draft.metadata.name ?? "", signal))).key;

  return {
    mint,

    async mintGranted(draft, issued, signal) {
      const context = contextOf("create", "", signal);
      return await grants.during(context, issued, () => create(draft, context));
    },

    // In the requester's context: what holds for keys that it makes itself holds for this one.
    async mintAccessKey(
      { owner, groups, displayName, scope, selectors, audiences, bound, rules: narrowing, ttl, parent },
      context,
    ): Promise<MintedKey> {
      const now = clock.now();
      const parentKey = parent === undefined ? undefined : keys.byUid(parent.uid);
      const remaining = secondsUntil(parentKey?.expiresAt, now);
      const seconds = Math.min(ttl ?? Number.POSITIVE_INFINITY, remaining);
      const isEndless = seconds === Number.POSITIVE_INFINITY;
      const [rules, scopeRules, ...more] = [
        ...(parentKey?.restrictions?.ruleSets ?? []),
        ...(narrowing === undefined ? [] : [narrowing]),
      ];
      // A key has room for two sets of rules.
      if (more.length > 0)
        throw forbiddenRequestError(
          { group, resource: plural },
          "",
          "the access key of the request has too many rules",
        );
      return await create(
        {
          metadata:
            bound === undefined ? { generateName: `${scope.project}-${scope.virtualCluster}-` } : { name: bound.name },
          spec: {
            displayName,
            [owner.kind]: owner.name,
            type: "Other",
            ...(groups.length === 0 ? {} : { groups }),
            ...(isEndless ? {} : { ttl: seconds }),
            ...(rules === undefined ? {} : { rules }),
            audiences: [...audiences],
            ...(bound === undefined ? {} : { confirmation: { certificateSHA256: bound.certificateSHA256 } }),
            scope: {
              virtualClusters:
                selectors === undefined ? [scope] : selectors.map((selector) => ({ ...scope, selector })),
              ...(scopeRules === undefined ? {} : { rules: scopeRules }),
            },
          },
        },
        context,
      );
    },

    mintControlPlaneKey: async ({ subject, displayName, role, cluster }, { signal }) =>
      await mint(
        {
          metadata: { generateName: "control-plane-" },
          spec: {
            displayName,
            subject,
            type: "Other",
            // It has to work for as long as its cluster does.
            ttl: 0,
            scope: {
              roles: [{ role: role.role, projects: role.projects, virtualClusters: role.virtualClusters }],
              ...(cluster === undefined ? {} : { clusters: [{ cluster }] }),
            },
          },
        },
        signal,
      ),

    async revoke(name, signal) {
      try {
        await deleteRecorded(own("OwnedAccessKey"), contextOf("delete", name, signal), { dryRun: false }, audit);
      } catch (error) {
        if (!isApiError(error, "NotFound")) throw error;
      }
    },
  };
}

/** A key in its last second is asked for a child that ends with it, not for one without an end. */
const secondsUntil = (end: number | undefined, now: number): number =>
  end === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor((end - now) / 1000));
