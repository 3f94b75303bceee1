// What happens to an access key on its way into the store.

import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import type { ObjectMeta, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import { ownerOf, ownerOfCaller, ownerUid } from "../../access-keys/access-key-owner.ts";
import type { AccessKeySecrets } from "../../access-keys/access-key-secrets.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { effectiveTTL, endOfLife } from "../../access-keys/key-lifetime.ts";
import type { PlatformContext } from "../../platform-context.ts";
import { withCondition } from "../conditions.ts";
import { checkCreator, narrowedKeyOf } from "./creator-limits.ts";
import { AUDIT_ISSUED_CREDENTIAL } from "./issued-credential.ts";
import { type KeyEventReason, keyEvent, type RecordKeyEvent } from "./key-events.ts";
import type { KeyQuota } from "./key-quota.ts";
import type { OwnedAccessKey } from "./owned-access-key.ts";
import { readyByItself } from "./ready-condition.ts";
import { isAccessKey } from "./sealed-fields.ts";
import { keyPlaces, scrubLastApplied } from "./secret-fields.ts";
import { validateAccessKey } from "./validation.ts";

export type AccessKeyStrategyDependencies = Pick<
  PlatformContext,
  "names" | "configuration" | "runtime" | "keys" | "directory" | "authorizer"
> & {
  readonly secrets: AccessKeySecrets;
  readonly keyQuota: KeyQuota;
  readonly recordEvent: RecordKeyEvent;
};

type StrategyOptions = AccessKeyStrategyDependencies & {
  /** True where a key is made by the server when the client brings none. */
  readonly generatesKeys: boolean;
};

const NAME_PREFIX = "key-";

export function accessKeyStrategy(options: StrategyOptions): Strategy<OwnedAccessKey> {
  const { names, directory, keys, secrets, recordEvent, generatesKeys } = options;
  return {
    allowUnconditionalUpdate: true,
    nameWhenAbsent: () => ({ generateName: NAME_PREFIX }),

    async prepareForCreate(submitted, context) {
      const { status: _, ...rest } = scrubLastApplied(submitted);
      const { spec = {} } = rest;
      const owner = ownerOf(spec) ?? ownerOfCaller(context.user, directory, names);
      const key = (spec.key ?? "") !== "" || !generatesKeys ? spec.key : secrets.generate();
      const object = withStatus(
        {
          ...rest,
          metadata: withCreator(rest.metadata, narrowedKeyOf(context, keys), options),
          spec: { ...spec, [owner.kind]: owner.name, ...(key === undefined ? {} : { key }) },
        },
        undefined,
        options,
      );
      await checkCreator(context, object, undefined, options);
      warnOfShorterLife(object, context, options);
      return withReadiness(object, undefined, options);
    },

    async prepareForUpdate(submitted, old, context) {
      const object = withStatus(withOwner(withoutSameKey(scrubLastApplied(submitted), keys), old), old, options);
      await checkCreator(context, object, old, options);
      warnOfShorterLife(object, context, options);
      return withReadiness(object, old, options);
    },

    validate: (object) => validateAccessKey(object, undefined, { names, directory, secrets, keys, requiresKey: true }),
    validateUpdate: (object, old) =>
      validateAccessKey(object, old, { names, directory, secrets, keys, requiresKey: false }),

    afterCreate(object, { audit }) {
      const id = keys.byName(object.metadata.name ?? "")?.id;
      if (id !== undefined) audit.annotate(AUDIT_ISSUED_CREDENTIAL, id);
      recordEvent(keyEvent(object, "Created"));
    },
    afterUpdate(object, old) {
      const [is, was] = [object.spec?.disabled === true, old.spec?.disabled === true];
      if (is !== was) recordEvent(keyEvent(object, is ? "Disabled" : "Enabled"));
    },
    afterDelete: (object) => recordEvent(keyEvent(object, reasonOfDeletion(object, options))),
  };
}

/** What the write itself tells; whatever else there is to say follows a moment later. */
function withReadiness(
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { runtime }: AccessKeyStrategyDependencies,
): OwnedAccessKey {
  const before = old?.status?.conditions ?? [];
  const isDisabled = object.spec?.disabled === true;
  const changes = old === undefined || isDisabled !== (old.spec?.disabled === true);
  const conditions = changes ? withCondition(before, readyByItself(isDisabled), runtime.clock.now()) : before;
  return conditions.length === 0 ? object : { ...object, status: { ...object.status, conditions } };
}

function reasonOfDeletion(
  { spec, status }: OwnedAccessKey,
  { runtime, directory }: AccessKeyStrategyDependencies,
): KeyEventReason {
  const end = parseTimestamp(status?.expirationTimestamp ?? "");
  if (end !== undefined && end <= runtime.clock.now()) return "Expired";
  const owner = ownerOf(spec ?? {});
  const isGone = owner !== undefined && owner.kind !== "subject" && ownerUid(owner, directory) === undefined;
  return isGone ? "OwnerGone" : "Deleted";
}

/** Who applies or replaces what was first written without an owner names none either: the key keeps the one it got. */
function withOwner(object: OwnedAccessKey, old: OwnedAccessKey): OwnedAccessKey {
  const owner = ownerOf(old.spec ?? {});
  if (owner === undefined || ownerOf(object.spec ?? {}) !== undefined) return object;
  return { ...object, spec: { ...object.spec, [owner.kind]: owner.name } };
}

/** An empty value says the same as an absent one, and so does the one it has: keep the key. */
function withoutSameKey(object: OwnedAccessKey, keys: AccessKeyIndex): OwnedAccessKey {
  if (object.spec?.key === undefined) return object;
  const isSame = object.spec.key === "" || keys.find(object.spec.key)?.uid === object.metadata.uid;
  // Validation has to see a value that stands elsewhere in the object as well.
  if (!isSame || (object.spec.key !== "" && keyPlaces(object, object.spec.key).length > 0)) return object;
  const { key: _, ...spec } = object.spec;
  return { ...object, spec };
}

/** A key made with a narrowed key names it as its owner, and goes with it. */
function withCreator(
  metadata: ObjectMeta,
  creator: AccessKeyState | undefined,
  { names }: AccessKeyStrategyDependencies,
): ObjectMeta {
  const { ownerReferences = [] } = metadata;
  if (creator === undefined || ownerReferences.some(({ uid }) => uid === creator.uid)) return metadata;
  return { ...metadata, ownerReferences: [...ownerReferences, keyReference(creator, names)] };
}

/** An owner reference to an access key. */
export const keyReference = (
  { name, uid }: Pick<AccessKeyState, "name" | "uid">,
  { managementGroup }: AccessKeyStrategyDependencies["names"],
): OwnerReference => ({
  apiVersion: formatApiVersion({ group: managementGroup, version: "v1" }),
  kind: "OwnedAccessKey",
  name,
  uid,
});

/** The status is the server's: what was written of it stays, and the end of life follows from the spec. */
function withStatus(
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  options: AccessKeyStrategyDependencies,
): OwnedAccessKey {
  const { status: _, ...rest } = object;
  const lastActivity = old?.status?.lastActivity ?? undefined;
  const end = endOf(rest, lastActivity, options);
  const status = {
    ...(lastActivity === undefined ? {} : { lastActivity }),
    ...(end === undefined ? {} : { expirationTimestamp: formatTimestamp(end) }),
  };
  // The rest keeps the members that make it an object of this kind.
  return Object.keys(status).length === 0 ? (rest as OwnedAccessKey) : ({ ...rest, status } as OwnedAccessKey);
}

function endOf(
  { metadata, spec }: Pick<OwnedAccessKey, "metadata" | "spec">,
  lastActivity: string | undefined,
  { configuration, keys, names }: AccessKeyStrategyDependencies,
): number | undefined {
  const own = endOfLife(
    {
      createdAt: parseTimestamp(metadata.creationTimestamp ?? "") ?? 0,
      lastActivity: lastActivity === undefined ? undefined : parseTimestamp(lastActivity),
      ttl: Number(spec?.ttl ?? configuration.accessKeys.defaultTTLSeconds),
      countsFromActivity: spec?.ttlAfterLastActivity === true,
    },
    configuration.accessKeys.maxTTLSeconds,
  );
  const ends = (metadata.ownerReferences ?? [])
    .filter((reference) => isAccessKey(reference, names))
    .map(({ uid }) => keys.byUid(uid)?.expiresAt)
    .concat(own)
    .filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function warnOfShorterLife(
  { spec }: OwnedAccessKey,
  { warnings }: RequestContext,
  { configuration }: AccessKeyStrategyDependencies,
): void {
  const { maxTTLSeconds } = configuration.accessKeys;
  const wanted = Number(spec?.ttl);
  // What is no lifetime at all is refused later on.
  if (!Number.isInteger(wanted) || wanted < 0) return;
  const effective = effectiveTTL(wanted, maxTTLSeconds);
  if (effective !== wanted) warnings.add(`spec.ttl: the server ends every access key after ${effective} seconds`);
}
