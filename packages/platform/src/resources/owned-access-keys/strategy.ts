// What happens to an access key on its way into the store.

import { tooManyRequestsError } from "@postern/apimachinery/meta/api-error";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import { createRateLimiter } from "@postern/apiserver/chain/rate-limiter";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import { ownerOf, ownerOfCaller, ownerUid, sameOwner } from "../../access-keys/access-key-owner.ts";
import type { AccessKeySecrets } from "../../access-keys/access-key-secrets.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { effectiveTTL, endOfLife } from "../../access-keys/key-lifetime.ts";
import type { PlatformContext } from "../../platform-context.ts";
import { withCondition } from "../conditions.ts";
import { checkCreator, grantedTTL } from "./creator-limits.ts";
import { AUDIT_ISSUED_CREDENTIAL } from "./issued-credential.ts";
import { type KeyEventReason, keyEvent, type RecordKeyEvent } from "./key-events.ts";
import type { KeyQuota } from "./key-quota.ts";
import { keyReference } from "./key-reference.ts";
import { createsKeyDirectly, parentsOf } from "./lineage.ts";
import type { OwnedAccessKey } from "./owned-access-key.ts";
import { readyByItself } from "./ready-condition.ts";
import { checkDelivery, type SecretDeliveryDependencies } from "./secret-delivery.ts";
import { keyPlaces, scrubLastApplied } from "./secret-fields.ts";
import { validateAccessKey } from "./validation.ts";

export type AccessKeyStrategyDependencies = Pick<
  PlatformContext,
  "names" | "configuration" | "runtime" | "keys" | "directory" | "authorizer"
> &
  SecretDeliveryDependencies & {
    readonly secrets: AccessKeySecrets;
    readonly keyQuota: KeyQuota;
    readonly recordEvent: RecordKeyEvent;
  };

type StrategyOptions = AccessKeyStrategyDependencies & {
  /** True where a key is made by the server when the client brings none. */
  readonly generatesKeys: boolean;
};

/** Values of one's own that somebody may set, or try. */
const CHOSEN_VALUES = { qps: 1, burst: 100 };
const NAME_PREFIX = "key-";
const NEXT_VALUE =
  "spec.secretRef: the server does not have the value of the access key, only its hash: the Secret receives the next one, when the key is rotated";

export function accessKeyStrategy(options: StrategyOptions): Strategy<OwnedAccessKey> {
  const { names, configuration, directory, keys, secrets, recordEvent, generatesKeys } = options;
  const chosenValues = createRateLimiter(CHOSEN_VALUES, options.runtime.clock);
  /** Each value that somebody sets is compared with those that there are. Throws ApiError 429. */
  const slowDown = (key: string | undefined, { user, credential }: RequestContext): void => {
    const delay = (key ?? "") === "" || credential === undefined ? undefined : chosenValues.delayOf(user.name);
    if (delay !== undefined)
      throw tooManyRequestsError("too many values of access keys, please try again later", delay);
  };
  return {
    allowUnconditionalUpdate: true,
    nameWhenAbsent: () => ({ generateName: NAME_PREFIX }),

    async prepareForCreate(submitted, context) {
      const { status: _, ...rest } = scrubLastApplied(submitted);
      const { spec = {} } = rest;
      slowDown(spec.key, context);
      const parents = parentsOf(context, keys);
      const owner = ownerOf(spec) ?? ownerOfCaller(context.user, directory, names);
      const key = (spec.key ?? "") !== "" || !generatesKeys ? spec.key : secrets.generate();
      const drafted = await grantedTTL(
        context,
        {
          ...rest,
          metadata: withParents(rest.metadata, parents, options),
          spec: { ...spec, [owner.kind]: owner.name, ...(key === undefined ? {} : { key }) },
        },
        options,
      );
      const object = withStatus(
        drafted,
        { lastActivity: undefined, parents, defaultTTL: configuration.accessKeys.defaultTTLSeconds },
        options,
      );
      await checkCreator(context, object, undefined, options);
      await checkDelivery(context, object, options);
      warnOfShorterLife(object, context, options);
      warnOfDefaultLife(object, context, options);
      return withReadiness(object, undefined, options);
    },

    async prepareForUpdate(submitted, old, context) {
      const known = keys.byUid(old.metadata.uid ?? "");
      const parents = (known?.parentUids ?? []).flatMap((uid) => keys.byUid(uid) ?? []);
      const kept = withOwner(withoutSameKey(scrubLastApplied(submitted), keys), old);
      slowDown(kept.spec?.key, context);
      const object = withStatus(
        { ...kept, metadata: withParents(kept.metadata, parents, options) },
        {
          lastActivity: old.status?.lastActivity ?? undefined,
          parents,
          defaultTTL:
            known?.defaultTTL ?? (old.spec?.ttl === undefined ? 0 : configuration.accessKeys.defaultTTLSeconds),
        },
        options,
      );
      await checkCreator(context, object, old, options);
      const isNewPlace = object.spec?.secretRef !== undefined && old.spec?.secretRef === undefined;
      const getsValue = (object.spec?.key ?? "") !== "";
      if (isNewPlace || getsValue) await checkDelivery(context, object, options);
      if (isNewPlace && !getsValue) context.warnings.add(NEXT_VALUE);
      warnOfShorterLife(object, context, options);
      return withReadiness(object, old, options);
    },

    validate: (object, context) => {
      const isOwn = ownKeysOf(context, options);
      return validateAccessKey(object, undefined, { names, directory, secrets, keys, isOwn, requiresKey: true });
    },
    validateUpdate: (object, old, context) => {
      const isOwn = ownKeysOf(context, options);
      return validateAccessKey(object, old, { names, directory, secrets, keys, isOwn, requiresKey: false });
    },

    afterCreate(object, { audit }) {
      const id = keys.byName(object.metadata.name ?? "")?.id;
      if (id !== undefined) audit.annotate(AUDIT_ISSUED_CREDENTIAL, id);
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

/** The caller's own keys, and the one that the request came in with. */
function ownKeysOf({ user, credential }: RequestContext, { names, directory }: AccessKeyStrategyDependencies) {
  const caller = ownerOfCaller(user, directory, names);
  return (key: AccessKeyState | undefined): boolean =>
    key !== undefined && (sameOwner(key.owner, caller) || key.id === credential?.id);
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

/** For the garbage collector and for people: a key names those that it dies with as its owners, whatever its writer says of them. */
function withParents(
  metadata: ObjectMeta,
  parents: readonly AccessKeyState[],
  { names }: AccessKeyStrategyDependencies,
): ObjectMeta {
  if (parents.length === 0) return metadata;
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => !parents.some((parent) => parent.uid === uid));
  return { ...metadata, ownerReferences: [...others, ...parents.map((parent) => keyReference(parent, names))] };
}

type KnownLife = {
  readonly lastActivity: string | undefined;
  readonly parents: readonly AccessKeyState[];
  /** Seconds, where spec.ttl is absent. */
  readonly defaultTTL: number;
};

/** The status is the server's: what was written of it stays, and the end of life follows from the spec. */
function withStatus(
  object: OwnedAccessKey,
  known: KnownLife,
  { configuration }: AccessKeyStrategyDependencies,
): OwnedAccessKey {
  const { status: _, ...rest } = object;
  const { lastActivity } = known;
  const end = endOf(rest, known, configuration.accessKeys.maxTTLSeconds);
  const status = {
    ...(lastActivity === undefined ? {} : { lastActivity }),
    ...(end === undefined ? {} : { expirationTimestamp: formatTimestamp(end) }),
  };
  // The rest keeps the members that make it an object of this kind.
  return Object.keys(status).length === 0 ? (rest as OwnedAccessKey) : ({ ...rest, status } as OwnedAccessKey);
}

function endOf(
  { metadata, spec }: Pick<OwnedAccessKey, "metadata" | "spec">,
  { lastActivity, parents, defaultTTL }: KnownLife,
  maxTTLSeconds: number,
): number | undefined {
  const own = endOfLife(
    {
      createdAt: parseTimestamp(metadata.creationTimestamp ?? "") ?? 0,
      lastActivity: lastActivity === undefined ? undefined : parseTimestamp(lastActivity),
      ttl: Number(spec?.ttl ?? defaultTTL),
      countsFromActivity: spec?.ttlAfterLastActivity === true,
    },
    maxTTLSeconds,
  );
  const ends = [...parents.map(({ expiresAt }) => expiresAt), own].filter((end) => end !== undefined);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function warnOfDefaultLife(
  { spec }: OwnedAccessKey,
  context: RequestContext,
  { configuration }: AccessKeyStrategyDependencies,
): void {
  const { defaultTTLSeconds } = configuration.accessKeys;
  if (spec?.ttl !== undefined || defaultTTLSeconds <= 0 || !createsKeyDirectly(context)) return;
  context.warnings.add(
    `spec.ttl: absent, so the access key expires ${defaultTTLSeconds} seconds from now, as the server is configured`,
  );
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
