// Access keys in memory: the index of their values, who they are, and the records that are kept beside them.

import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Foundation } from "../../foundation/foundation.ts";
import { followAccounts } from "../../foundation/store/record-accounts.ts";
import { audienceOfRequest } from "../authorization/request/audience-of-request.ts";
import type { Directory } from "../directory/directory.ts";
import { type AccessKeyAuthenticator, createAccessKeyAuthenticator } from "./access-key-authenticator.ts";
import type { GrantedGroups } from "./access-key-identity.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import { createGuessRateLimit, type GuessRateLimit } from "./chosen-values/guess-rate-limit.ts";
import { accountOfClaim, createValueClaims, type ValueClaims } from "./chosen-values/unique-values.ts";
import { type CatchUp, createCatchUp } from "./index/catch-up.ts";
import { createAccessKeyIndex, type LiveAccessKeyIndex } from "./index/create-access-key-index.ts";
import { createIssuedGrants, type IssuedGrants } from "./issued-grants.ts";
import { eventOfKey, type RecordKeyEvent } from "./key-events.ts";
import type { KeyGrants } from "./key-grant.ts";
import { createKeyMetrics, type KeyMetrics } from "./key-metrics.ts";
import { createKeyUses } from "./key-uses.ts";
import { createLastActivity, type LastActivity } from "./last-use/last-activity.ts";
import { createLastActivityWriter } from "./last-use/last-activity-writer.ts";
import type { GatherUses, PeriodicWriter } from "./last-use/periodic-writer.ts";
import { createProofVerifier, type OwnAddresses, type ProofVerifier } from "./proofs/proof-verifier.ts";
import { createUsedProofs, type UsedProofs } from "./proofs/used-proofs.ts";
import { createDigestRenewal } from "./rotation/digest-renewal.ts";
import { createRotationGuard, type RotationGuard } from "./rotation/rotation-guard.ts";
import { createRotationMarks } from "./rotation/rotation-marks.ts";
import { createSealedRecordWriter, type SealedRecordWriter } from "./rotation/sealed-record-writer.ts";
import { type AccessKeySecrets, createAccessKeySecrets } from "./secrets/access-key-secrets.ts";
import { KeyUsage } from "./usage/key-usage.ts";
import { createKeyUsageWriter } from "./usage/key-usage-writer.ts";

export const DAY_MS = 86_400_000;

const NO_ADDRESSES: OwnAddresses = { url: () => "", isOwnName: () => false };

export type AccessKeys = Disposable & {
  readonly index: LiveAccessKeyIndex;
  /** The records of `ownedaccesskeys`. */
  readonly records: ViewPrefix;
  readonly secrets: AccessKeySecrets;
  readonly authenticator: AccessKeyAuthenticator;
  readonly proofs: ProofVerifier;
  readonly rotations: RotationGuard;
  /** Writes the sealed part of records, which nothing may stop. */
  readonly sealedRecords: SealedRecordWriter;
  readonly activity: LastActivity;
  readonly usage: KeyUsage;
  readonly gatherUses: GatherUses;
  readonly grants: IssuedGrants;
  /** The owners of values that clients chose. */
  readonly valueClaims: ValueClaims;
  readonly comparisons: GuessRateLimit;
  readonly catchUp: CatchUp;
  readonly metrics: KeyMetrics;
  /** Records and counts an Event about a key. */
  readonly recordEvent: RecordKeyEvent;
};

export type AccessKeysNeeds = {
  readonly directory: Directory;
  /** Whether what issued a key still grants it. */
  readonly grants: KeyGrants;
  /** Access that users were granted for a time. Absent: none. */
  readonly granted?: GrantedGroups;
  /** Proofs of requests name the server by one of them. Absent: none is accepted. */
  readonly addresses?: OwnAddresses;
  /** The proofs that all threads have accepted. Absent: there is one thread. */
  readonly usedProofs?: UsedProofs | undefined;
  /** Absent: there is one thread. */
  readonly gatherUses?: GatherUses | undefined;
};

export function openAccessKeys(
  base: Foundation,
  {
    directory,
    grants,
    granted,
    addresses = NO_ADDRESSES,
    usedProofs = createUsedProofs(),
    gatherUses = async () => {},
  }: AccessKeysNeeds,
): AccessKeys {
  const { configuration, names, storage, cache, runtime, keyRing, epochs } = base;
  const { clock, scheduler, random } = runtime;
  const metrics = createKeyMetrics(base.metrics);
  const recordEvent: RecordKeyEvent = (event) => {
    metrics.event(event.reason);
    base.recordEvent(event);
  };
  const records = base.objects("ownedaccesskeys");
  const secrets = createAccessKeySecrets({ platformName: names.name, keyRing, random });
  const sealedRecords = createSealedRecordWriter(records, base);
  const marks = createRotationMarks();
  const activity = createLastActivity(epochs, base.records("key-activity"));
  const usage = new KeyUsage(
    { names, keys: { byId: (id) => index.byId(id) }, records: base.records("key-usage") },
    clock.now(),
  );
  const catchUp = createCatchUp({ cache, clock, scheduler });
  const index: LiveAccessKeyIndex = createAccessKeyIndex(base, records, {
    directory,
    secrets,
    activity: {
      ...activity,
      forget(key) {
        activity.forget(key);
        usage.forget(key.uid);
      },
    },
    rotationMarks: marks,
    grants,
    catchUp,
  });
  const rotations = createRotationGuard(base, {
    marks,
    currentOf: (uid) => index.byUid(uid),
    writer: sealedRecords,
    onLocked: (key) => recordEvent(eventOfKey(names, key, "RetiredValueUsed")),
    onRetiredUse: metrics.retiredValueUsed,
  });
  const proofs = createProofVerifier({ keyRing, clock, addresses, used: usedProofs });
  const values = base.records("key-values");
  const valueAccounts = followAccounts(values, scheduler, accountOfClaim);
  return {
    index,
    records,
    secrets,
    proofs,
    authenticator: createAccessKeyAuthenticator({
      keys: index,
      idOf: secrets.format.idOf,
      catchUp,
      activity,
      rotations,
      renewal: createDigestRenewal(base, secrets, sealedRecords),
      directory,
      names,
      ...(granted === undefined ? {} : { granted }),
      clock,
      uses: createKeyUses(records, base),
      proofs,
      audienceOf: (behind) => audienceOfRequest(behind, names),
      onRefused: metrics.refused,
      onUnproven: oncePerKey((key) => {
        const once = `${key.uid.slice(0, 6)}${Math.floor(clock.now() / HOUR_MS).toString(36)}`;
        recordEvent({ ...eventOfKey(names, key, "UsedWithoutProof"), once });
      }, clock),
    }),
    rotations,
    sealedRecords,
    activity,
    usage,
    gatherUses,
    grants: createIssuedGrants(),
    valueClaims: createValueClaims({
      prefix: values.prefix,
      accounts: valueAccounts,
      keyPrefix: records.prefix,
      storage,
      secrets,
      rememberMs: configuration.accessKeys.rememberValuesDays * DAY_MS,
      clock,
    }),
    comparisons: createGuessRateLimit(base.rateLimiter),
    catchUp,
    metrics,
    recordEvent,
    [Symbol.dispose]() {
      valueAccounts[Symbol.dispose]();
      index[Symbol.dispose]();
    },
  };
}

const HOUR_MS = 3_600_000;
/** More are announced anew. */
const MAX_ANNOUNCED = 10_000;

/** Once an hour for each key: a job that lost its certificate tries again and again. All servers together record it once in each hour of the clock. */
function oncePerKey(announce: (key: AccessKeyState) => void, clock: Pick<Clock, "elapsed">): typeof announce {
  const announced = new Map<string, number>();
  return (key) => {
    const now = clock.elapsed();
    if (now - (announced.get(key.uid) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return;
    if (announced.size >= MAX_ANNOUNCED) announced.clear();
    announced.set(key.uid, now);
    announce(key);
  };
}

/** Write into the store when and for what keys were used; they write a last time when they are disposed. */
export function keyWriters(
  { names, records, storage, configuration, runtime: { clock, scheduler }, onError }: Foundation,
  { index: keys, activity, usage, recordEvent }: AccessKeys,
): readonly PeriodicWriter[] {
  const written = { keys, storage, scheduler, onError: (error: unknown) => onError(error, "key-usage") };
  return [
    createLastActivityWriter({
      ...written,
      activity,
      clock,
      maxTTLSeconds: configuration.accessKeys.maxTTLSeconds,
      records: records("key-activity"),
      onNewNetwork: (key, network) =>
        recordEvent(eventOfKey(names, key, "NewNetwork", `The access key was used from a new network: ${network}`)),
    }),
    createKeyUsageWriter({ ...written, usage, records: records("key-usage") }),
  ];
}
