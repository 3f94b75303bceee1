// The strategy of access keys.

import { withCondition } from "@postern/api/conditions";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { GroupKind } from "@postern/apimachinery/meta/group-version";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { systemUser } from "@postern/apiserver/context/system-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ownerOf, ownerOfCaller, ownerUid } from "../../access-key-owner.ts";
import type { AccessKeyState } from "../../access-key-state.ts";
import { keyPlaces, scrubLastApplied } from "../../chosen-values/secret-fields.ts";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";
import type { IssuedGrant, IssuedGrants } from "../../issued-grants.ts";
import { type KeyEventReason, keyEvent, type RecordKeyEvent } from "../../key-events.ts";
import type { KeyQuota } from "../../key-quota.ts";
import { defaultTTLOf, effectiveTTL, expirationOf, MAX_TTL_SECONDS } from "../../validity/key-ttl.ts";
import { type ChosenValuesDeps, createChosenValues } from "./chosen-values.ts";
import { type CreatorLimitsDeps, checkCreator, grantedTTL, keyRefusedError } from "./creator-limits.ts";
import { checkDelivery, type SecretDeliveryDeps } from "./delivery-secret.ts";
import { keyReference } from "./key-reference.ts";
import { createsKeyDirectly, parentsOf, withBoundsOf } from "./lineage.ts";
import { readyByItself } from "./ready-condition.ts";
import { providerOf, type TokenClientDeps } from "./token-client.ts";
import { type ValidationDeps, validateAccessKey } from "./validation.ts";

export type AccessKeyStrategyDeps = CreatorLimitsDeps &
  SecretDeliveryDeps &
  TokenClientDeps &
  ChosenValuesDeps & {
    readonly keyQuota: KeyQuota;
    readonly recordEvent: RecordKeyEvent;
    readonly grants: IssuedGrants;
  };

type StrategyOptions = AccessKeyStrategyDeps & {
  /** True where a key is made by the server when the client brings none. */
  readonly generatesKeys: boolean;
  /** Kind that is served. */
  readonly kind: GroupKind;
};

const NAME_PREFIX = "key-";
const NEXT_VALUE =
  "spec.secretRef: the server stores only a hash of the access key: the Secret receives the next value, when the key is rotated";

export function accessKeyStrategy(options: StrategyOptions): Strategy<OwnedAccessKey> {
  const { names, configuration, directory, keys, secrets, recordEvent, generatesKeys, grants, keyQuota } = options;
  const chosenValues = createChosenValues(options, options.kind);
  const validationIn = (context: RequestContext): ValidationDeps => ({
    names,
    directory,
    secrets,
    ...chosenValues.foundIn(context),
  });
  return {
    allowUnconditionalUpdate: true,
    // The end of a grace period has a year of four digits, as that of a TTL.
    maxGracePeriodSeconds: MAX_TTL_SECONDS,
    nameWhenAbsent: () => ({ generateName: NAME_PREFIX }),

    async prepareForCreate(submitted, context) {
      // Validation compares with the values of the caller's other keys.
      if (!keys.isRead) await keys.whenRead();
      const { status: _, ...rest } = scrubLastApplied(submitted);
      const { spec = {} } = rest;
      const issued = grants.of(context);
      const parents = [...parentsOf(context, options), ...parentsOfRule(issued, keys)];
      const owner = ownerOf(spec) ?? ownerOfCaller(context.user, directory, names);
      const owned = { ...withBoundsOf(parents, spec), ...providerOf(spec, options) };
      owned[owner.kind] = owner.name;
      const comparing = chosenValues.compare({ ...rest, spec: owned }, context);
      if (comparing !== undefined) await comparing;
      const key = (spec.key ?? "") !== "" || !generatesKeys ? spec.key : secrets.generate();
      const granting = grantedTTL(
        context,
        {
          ...rest,
          metadata: withParents(rest.metadata, parents, options),
          spec: key === undefined ? owned : { ...owned, key },
        },
        options,
      );
      const drafted = granting instanceof Promise ? await granting : granting;
      const object = withStatus(
        drafted,
        {
          lastActivity: undefined,
          uses: 0,
          parents,
          defaultTTL: defaultTTLOf(owner, configuration.accessKeys),
          issuedBy: issued?.issuedBy,
        },
        options,
      );
      const checking = checkCreator(context, object, undefined, options);
      if (checking !== undefined) await checking;
      const delivering = checkDelivery(context, object, options);
      if (delivering !== undefined) await delivering;
      warnOfShorterLife(object, context, options);
      if (!warnOfParents(object, parents, context) && submitted.spec?.ttl === undefined) {
        warnOfDefaultLife(object, context);
      }
      return withReadiness(object, undefined, options);
    },

    async prepareForUpdate(submitted, old, context) {
      if (!keys.isRead) await keys.whenRead();
      const known = keys.byUid(old.metadata.uid ?? "");
      const parents = (known?.parentUids ?? []).flatMap((uid) => keys.byUid(uid) ?? []);
      const written = withOwner(withoutSameKey(scrubLastApplied(submitted), options), old);
      const kept = known?.grant?.login === undefined ? written : withIdentityOf(old, written, context);
      const comparing = chosenValues.compare(kept, context);
      if (comparing !== undefined) await comparing;
      const object = withStatus(
        { ...kept, metadata: withParents(kept.metadata, parents, options) },
        {
          lastActivity: old.status?.lastActivity ?? undefined,
          uses: old.spec?.maxUses === undefined ? 0 : Number(old.status?.uses ?? 0),
          parents,
          defaultTTL:
            known?.defaultTTL ??
            (old.spec?.ttl === undefined ? 0 : defaultTTLOf(ownerOf(kept.spec ?? {}), configuration.accessKeys)),
          issuedBy: old.status?.issuedBy,
        },
        options,
      );
      const checking = checkCreator(context, object, old, options);
      if (checking !== undefined) await checking;
      const isNewPlace = object.spec?.secretRef !== undefined && old.spec?.secretRef === undefined;
      const getsValue = (object.spec?.key ?? "") !== "";
      if (isNewPlace || getsValue) await checkDelivery(context, object, options);
      if (isNewPlace && !getsValue) context.warnings.add(NEXT_VALUE);
      warnOfShorterLife(object, context, options);
      return withReadiness(object, old, options);
    },

    validate: (object, context) => validateAccessKey(object, undefined, validationIn(context)),
    validateUpdate: (object, old, context) => validateAccessKey(object, old, validationIn(context)),

    // A caller that may not create the key, or sends an invalid one, neither waits for others nor learns how many there are.
    limits: (object, old) => keyQuota.limitsOf(object, old, (why) => keyRefusedError(object, options, why)),

    reserve: chosenValues.reserve,
    rehearseReserve: chosenValues.rehearse,

    afterCreate(object, { audit }) {
      const id = keys.byName(object.metadata.name ?? "")?.id;
      if (id !== undefined) audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, id);
    },
    afterUpdate(object, old) {
      const [is, was] = [object.spec?.disabled === true, old.spec?.disabled === true];
      if (is !== was) recordEvent(keyEvent(object, is ? "Disabled" : "Enabled"));
    },
    afterDelete(object) {
      // There may be a thousand a minute of those, and each was to end within the hour.
      if (object.status?.issuedBy === undefined) recordEvent(keyEvent(object, reasonOfDeletion(object, options)));
    },
  };
}

/** Warnings of the write itself; the controller updates the rest later. */
function withReadiness(
  object: OwnedAccessKey,
  old: OwnedAccessKey | undefined,
  { runtime }: AccessKeyStrategyDeps,
): OwnedAccessKey {
  const before = old?.status?.conditions ?? [];
  const isDisabled = object.spec?.disabled === true;
  const changes = old === undefined || isDisabled !== (old.spec?.disabled === true) || isRevived(object, old);
  const conditions = changes ? withCondition(before, readyByItself(isDisabled), runtime.clock.now()) : before;
  return conditions.length === 0 ? object : { ...object, status: { ...object.status, conditions } };
}

/** Whether the write gives an expired key a later end, without which it stays expired, whatever time it is. */
function isRevived({ status }: OwnedAccessKey, old: OwnedAccessKey): boolean {
  const ready = old.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.reason !== "Expired") return false;
  const endOf = (time: string | null | undefined): number => parseTimestamp(time ?? "") ?? Number.POSITIVE_INFINITY;
  return endOf(status?.expirationTimestamp) > endOf(old.status?.expirationTimestamp);
}

function reasonOfDeletion(
  { spec, status }: OwnedAccessKey,
  { runtime, directory }: AccessKeyStrategyDeps,
): KeyEventReason {
  const end = parseTimestamp(status?.expirationTimestamp ?? "");
  if (end !== undefined && end <= runtime.clock.now()) return "Expired";
  const owner = ownerOf(spec ?? {});
  const isGone = owner !== undefined && owner.kind !== "subject" && ownerUid(owner, directory) === undefined;
  return isGone ? "OwnerGone" : "Deleted";
}

/** A key that was first written without an owner keeps the one it got when it is applied or replaced without an owner again. */
function withOwner(object: OwnedAccessKey, old: OwnedAccessKey): OwnedAccessKey {
  const owner = ownerOf(old.spec ?? {});
  if (owner === undefined || ownerOf(object.spec ?? {}) !== undefined) return object;
  return { ...object, spec: { ...object.spec, [owner.kind]: owner.name } };
}

/** The server alone writes the identity that signed in, and the data with which the provider is asked again. */
function withIdentityOf(
  { spec: { identity, oidcProvider } = {} }: OwnedAccessKey,
  object: OwnedAccessKey,
  { credential, user }: RequestContext,
): OwnedAccessKey {
  if (credential === undefined && user.name === systemUser.name) return object;
  const { identity: _, identityRefresh: _refresh, oidcProvider: _provider, ...spec } = object.spec ?? {};
  const kept = {
    ...(identity === undefined ? {} : { identity }),
    ...(oidcProvider === undefined ? {} : { oidcProvider }),
  };
  return { ...object, spec: { ...spec, ...kept } };
}

/** An empty value says the same as an absent one, and so does the one it has: keep the key. */
function withoutSameKey(object: OwnedAccessKey, { keys, secrets }: AccessKeyStrategyDeps): OwnedAccessKey {
  const value = object.spec?.key;
  if (object.spec === undefined || value === undefined) return object;
  const digests = value === "" ? [] : secrets.digestsOf(value);
  const isSame =
    value === "" || keys.valuesOf(object.metadata.name ?? "").some((kept) => secrets.isAmong(kept, digests));
  // Validation has to see a value that stands elsewhere in the object as well.
  if (!isSame || (value !== "" && keyPlaces(object, value).length > 0)) return object;
  const { key: _, ...spec } = object.spec;
  return { ...object, spec };
}

/** For the garbage collector and for users: the owner references of a key are its parents, regardless of what clients write. */
function withParents(
  metadata: ObjectMeta,
  parents: readonly AccessKeyState[],
  { names }: AccessKeyStrategyDeps,
): ObjectMeta {
  if (parents.length === 0) return metadata;
  const others = (metadata.ownerReferences ?? []).filter(({ uid }) => !parents.some((parent) => parent.uid === uid));
  return { ...metadata, ownerReferences: [...others, ...parents.map((parent) => keyReference(parent, names))] };
}

/** Throws ApiError 403 if one of the rule's parents was deleted at this moment. */
function parentsOfRule(
  issued: IssuedGrant | undefined,
  keys: Pick<AccessKeyIndex, "byUid">,
): readonly AccessKeyState[] {
  return (issued?.parents ?? []).map((uid) => {
    const key = keys.byUid(uid);
    if (key === undefined)
      throw forbiddenRequestError(KEYS, "", "the access key that it was to be created with does not exist any more");
    return key;
  });
}

const KEYS = { group: "", resource: "ownedaccesskeys" };

type KnownLife = {
  readonly lastActivity: string | undefined;
  /** Requests counted for spec.maxUses. */
  readonly uses: number;
  readonly parents: readonly AccessKeyState[];
  /** Seconds, where spec.ttl is absent. */
  readonly defaultTTL: number;
  /** By what a trust rule issued the key. */
  readonly issuedBy: NonNullable<OwnedAccessKey["status"]>["issuedBy"];
};

/** Only the server writes the status: stored parts are kept, and the expiration follows from the spec. */
function withStatus(
  object: OwnedAccessKey,
  known: KnownLife,
  { configuration }: AccessKeyStrategyDeps,
): OwnedAccessKey {
  const { lastActivity, uses, issuedBy } = known;
  const end = endOf(object, known, configuration.accessKeys.maxTTLSeconds);
  const status = {
    ...(lastActivity === undefined ? {} : { lastActivity }),
    ...(object.spec?.maxUses === undefined ? {} : { uses }),
    ...(end === undefined ? {} : { expirationTimestamp: formatTimestamp(end) }),
    ...(issuedBy === undefined ? {} : { issuedBy }),
  };
  if (Object.keys(status).length > 0) return { ...object, status };
  const { status: _, ...rest } = object;
  // It keeps the members that make it an object of this kind.
  return rest as OwnedAccessKey;
}

function endOf(
  { metadata, spec }: Pick<OwnedAccessKey, "metadata" | "spec">,
  { lastActivity, parents, defaultTTL }: KnownLife,
  maxTTLSeconds: number,
): number | undefined {
  const own = expirationOf(
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

/** A warning for keys that end with the key that made them, and not with their own TTL. Returns whether it warns. */
function warnOfParents(
  { status }: OwnedAccessKey,
  parents: readonly AccessKeyState[],
  context: RequestContext,
): boolean {
  const end = status?.expirationTimestamp;
  const maker = parents.find(({ expiresAt }) => expiresAt !== undefined && formatTimestamp(expiresAt) === end);
  if (maker === undefined || !createsKeyDirectly(context)) return false;
  context.warnings.add(
    `spec.ttl: the access key expires at ${end}, as the access key ${JSON.stringify(maker.name)} that makes it: what a key with limits or with a TTL below the default makes ends with it`,
  );
  return true;
}

/** A warning for keys without a TTL that get one by default. */
function warnOfDefaultLife({ metadata, status }: OwnedAccessKey, context: RequestContext): void {
  const end = status?.expirationTimestamp;
  if (typeof end !== "string" || !createsKeyDirectly(context)) return;
  const life = (parseTimestamp(end) ?? 0) - (parseTimestamp(metadata.creationTimestamp ?? "") ?? 0);
  context.warnings.add(
    `spec.ttl: unset, so the access key expires in ${humanDuration(life)}, at ${end}; a longer TTL requires spec.ttl and the verb extend on ownedaccesskeys`,
  );
}

function warnOfShorterLife(
  { spec }: OwnedAccessKey,
  { warnings }: RequestContext,
  { configuration }: AccessKeyStrategyDeps,
): void {
  const { maxTTLSeconds } = configuration.accessKeys;
  const wanted = Number(spec?.ttl);
  // Invalid lifetimes are refused later on.
  if (!Number.isInteger(wanted) || wanted < 0) return;
  const effective = effectiveTTL(wanted, maxTTLSeconds);
  if (effective !== wanted) warnings.add(`spec.ttl: reduced to the maximum TTL of ${effective} seconds`);
}
