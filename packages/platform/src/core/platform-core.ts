// The core that all surfaces share: users and teams, access keys, and the decision point. It is in memory and follows the store.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import { createPlatformNames, MANAGEMENT, type PlatformNames } from "@postern/api/platform-names";
import type { RuleResolver } from "@postern/apiserver/authorization/authorizer";
import { createCachedRbacSource } from "@postern/apiserver/authorization/rbac/cached-rbac-source";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { Storage } from "@postern/apiserver/storage/storage";
import { rbacViews } from "@postern/kubernetes/server/standard-surface";
import {
  type AccessKeyAuthenticator,
  createAccessKeyAuthenticator,
} from "../features/access-keys/access-key-authenticator.ts";
import { type AccessKeySecrets, createAccessKeySecrets } from "../features/access-keys/access-key-secrets.ts";
import type { AccessKeyState } from "../features/access-keys/access-key-state.ts";
import { type CatchUp, createCatchUp } from "../features/access-keys/catch-up.ts";
import { createAccessKeyIndex, type LiveAccessKeyIndex } from "../features/access-keys/create-access-key-index.ts";
import { createDigestRenewal } from "../features/access-keys/digest-renewal.ts";
import { createGuessRateLimit, type GuessRateLimit } from "../features/access-keys/guess-rate-limit.ts";
import { createIssuedGrants, type IssuedGrants } from "../features/access-keys/issued-grants.ts";
import { isVoid, type KeyOrigin } from "../features/access-keys/key-origins.ts";
import { createLastActivity, type LastActivity } from "../features/access-keys/last-activity.ts";
import { createRotationGuard, type RotationGuard } from "../features/access-keys/rotation/rotation-guard.ts";
import {
  createSealedRecordWriter,
  type SealedRecordWriter,
} from "../features/access-keys/rotation/sealed-record-writer.ts";
import { createRotationMarks } from "../features/access-keys/rotation-marks.ts";
import { accountOfClaim, createValueClaims, type ValueClaims } from "../features/access-keys/unique-values.ts";
import { createKeyUsage, type KeyUsage } from "../features/access-keys/usage/key-usage.ts";
import { createEffectiveRules } from "../features/authorization/effective-rules.ts";
import { createInstancePermissionIndex } from "../features/authorization/instance-permissions.ts";
import { createPlatformAuthorizer } from "../features/authorization/platform-authorizer.ts";
import type { DecisionDeps, PlatformAuthorizer } from "../features/authorization/platform-decision.ts";
import { createProjectMembershipIndex } from "../features/authorization/project-memberships.ts";
import { createVisibility, type Visibility } from "../features/authorization/visibility.ts";
import { type CertificateLedger, createCertificateLedger } from "../features/certificates/certificate-ledger.ts";
import { createDirectory } from "../features/directory/create-directory.ts";
import type { Directory } from "../features/directory/directory.ts";
import {
  createIdentityProviders,
  type IdentityProviders,
  unionGrants,
} from "../features/sign-in/identity-providers.ts";
import { IDENTITY_PROVIDERS } from "../features/sign-in/provider-state.ts";
import { fetchIssuerKeys } from "../features/trust/fetch-issuer-keys.ts";
import { createIssuerKeys, type IssuerKeys } from "../features/trust/issuer-keys.ts";
import { createTokenVerifier, type TokenVerifier } from "../features/trust/token-verifier.ts";
import { CLUSTER_TRUST_RULES, TRUST_RULES } from "../features/trust/trust-rule-state.ts";
import { createTrustRules, type TrustRules } from "../features/trust/trust-rules.ts";
import { accountOfTakenToken, type TakenTokens } from "../features/trust/used-tokens.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import type { KeyRing } from "../foundation/encryption/key-ring.ts";
import type { ExpiringRecords } from "../foundation/store/expiring-records.ts";
import { followAccounts } from "../foundation/store/record-accounts.ts";
import { recordPrefixOf } from "../foundation/store/record-kinds.ts";
import type { RecordPrefixes } from "../foundation/store/record-prefixes.ts";

const CERTIFICATES = recordPrefixOf(MANAGEMENT, "certificates");
/** When keys were used last, by the names of keys. */
const KEY_ACTIVITY = recordPrefixOf(MANAGEMENT, "key-activity");
/** For which requests access keys were used. */
const KEY_USAGE = recordPrefixOf(MANAGEMENT, "key-usage");
/** Which tokens were taken, for rules that take each once. */
const TAKEN_TOKENS = recordPrefixOf(MANAGEMENT, "taken-tokens");
/** Sign-ins in progress. */
const SIGN_INS = recordPrefixOf(MANAGEMENT, "sign-ins");
/** Which notices access keys got. */
const KEY_NOTICES = recordPrefixOf(MANAGEMENT, "key-notices");
/** The owners of values that clients chose. */
const KEY_VALUES = recordPrefixOf(MANAGEMENT, "key-values");

export const DAY_MS = 86_400_000;

export type PlatformCore = Disposable & {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly secrets: AccessKeySecrets;
  readonly activity: LastActivity;
  readonly keys: LiveAccessKeyIndex;
  /** Where the records of access keys are. */
  readonly keyRecords: ViewPrefix;
  /** Where in the store the records of credentials are. */
  readonly recordPrefixes: RecordPrefixes;
  readonly authenticator: AccessKeyAuthenticator;
  readonly rotations: RotationGuard;
  readonly rbac: RbacSource;
  readonly sources: DecisionDeps;
  readonly authorizer: PlatformAuthorizer;
  readonly ruleResolver: RuleResolver;
  readonly visibility: Visibility;
  readonly certificates: CertificateLedger;
  readonly catchUp: CatchUp;
  readonly usage: KeyUsage;
  readonly usageRecords: ViewPrefix;
  readonly activityRecords: ViewPrefix;
  readonly noticeRecords: ViewPrefix;
  /** Writes the sealed part of access keys. */
  readonly sealedRecords: SealedRecordWriter;
  readonly grants: IssuedGrants;
  readonly trustRules: TrustRules;
  readonly issuerKeys: IssuerKeys;
  readonly verifier: TokenVerifier;
  readonly takenTokens: TakenTokens;
  readonly identityProviders: IdentityProviders;
  readonly signInRecords: ExpiringRecords;
  readonly valueClaims: ValueClaims;
  readonly valueRecords: ViewPrefix;
  readonly comparisons: GuessRateLimit;
};

export type PlatformCoreDeps = {
  readonly configuration: Configuration;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly keyRing: KeyRing;
  /** A retired value of a key was used, and the key is locked. */
  readonly onKeyLocked: (key: AccessKeyState) => void;
  /** A retired value of a key was used, whether or not that locks the key. Default: no notification. */
  readonly onRetiredUse?: () => void;
  /** Called with the reason when an access key is refused. Default: no notification. */
  readonly onKeyRefused?: (reason: string) => void;
  /** Takes faults of work that no request waits for. */
  readonly onError: (error: unknown) => void;
};

/** The cache must be ready. */
export function createPlatformCore(deps: PlatformCoreDeps): PlatformCore {
  const { configuration, storage, cache, runtime, keyRing, onKeyLocked, onRetiredUse, onKeyRefused, onError } = deps;
  const { clock, scheduler, random } = runtime;
  const names = createPlatformNames(configuration.platform);
  const view = (resource: string, namespaced: boolean): ViewPrefix => {
    const { prefix } = createResourceKeys(MANAGEMENT, { group: names.managementGroup, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };

  const directory = createDirectory({ users: view("users", false), teams: view("teams", false), scheduler });
  const secrets = createAccessKeySecrets({ platformName: names.name, keyRing, random });
  const epochs = createClockEpochs(clock);
  const activityRecords = { view: cache.view(KEY_ACTIVITY), prefix: KEY_ACTIVITY };
  const activity = createLastActivity(epochs, activityRecords);
  const keyRecords = view("ownedaccesskeys", false);
  const sealedRecords = createSealedRecordWriter({ ...keyRecords, storage, cache });
  const rotationMarks = createRotationMarks();
  const usageRecords = { view: cache.view(KEY_USAGE), prefix: KEY_USAGE };
  const usage = createKeyUsage({ names, keys: { byId: (id) => keys.byId(id) }, records: usageRecords }, clock.now());
  const trustRules = createTrustRules({
    names,
    restrictionNames: restrictionNames(names.name),
    clusterRules: view(CLUSTER_TRUST_RULES, false),
    projectRules: view(TRUST_RULES, true),
    scheduler,
    onError,
  });
  const identityProviders = createIdentityProviders({
    records: view(IDENTITY_PROVIDERS, false),
    directory,
    scheduler,
    onError,
  });
  const catchUp = createCatchUp({ cache, clock, scheduler });
  const keys: LiveAccessKeyIndex = createAccessKeyIndex({
    ...keyRecords,
    directory,
    secrets,
    restrictionNames: restrictionNames(names.name),
    activity: {
      ...activity,
      forget(key) {
        activity.forget(key);
        usage.forget(key.uid);
      },
    },
    epochs,
    rotationMarks,
    grants: unionGrants(trustRules, identityProviders),
    catchUp,
    maxTTLSeconds: configuration.accessKeys.maxTTLSeconds,
    clock,
    random,
    scheduler,
  });
  const certificates = createCertificateLedger({
    prefix: CERTIFICATES,
    catchUp,
    storage,
    cache,
    keys,
    directory,
    names,
    epochs,
    clock,
    scheduler,
  });
  const rotations = createRotationGuard({
    marks: rotationMarks,
    currentOf: (uid) => keys.byUid(uid),
    writer: sealedRecords,
    clock,
    scheduler,
    onLocked: onKeyLocked,
    ...(onRetiredUse === undefined ? {} : { onRetiredUse }),
    onError,
  });
  const renewal = createDigestRenewal({ keyRing, secrets, writer: sealedRecords, onError });
  const rbac = createCachedRbacSource(rbacViews(MANAGEMENT, cache), scheduler);
  const projects = createProjectMembershipIndex(view("projects", false), scheduler);
  const instanceViews = {
    virtualclusterinstances: view("virtualclusterinstances", true),
    spaceinstances: view("spaceinstances", true),
  };
  const instances = createInstancePermissionIndex(instanceViews, scheduler);
  const issuerKeys = createIssuerKeys({
    fetchKeySet: fetchIssuerKeys(configuration, names, scheduler),
    clock,
    scheduler,
  });
  const useIssuers = (): void =>
    issuerKeys.use([...trustRules.all(), ...identityProviders.all()].map(({ source }) => source));
  useIssuers();
  const issuersFollowed = trustRules.onChange(useIssuers);
  const providersFollowed = identityProviders.onChange(useIssuers);
  const verifier = createTokenVerifier({
    issuerKeys,
    directory,
    writerError: ({ origins, parents }) => writerError(origins, parents, keys),
    clock,
  });
  const takenTokens = { view: cache.view(TAKEN_TOKENS), prefix: TAKEN_TOKENS };
  const takenAccounts = followAccounts(takenTokens, scheduler, accountOfTakenToken);
  const valueRecords = { view: cache.view(KEY_VALUES), prefix: KEY_VALUES };
  const valueAccounts = followAccounts(valueRecords, scheduler, accountOfClaim);
  const sources: DecisionDeps = { names, keys, rbac, projects, instances };

  return {
    names,
    directory,
    secrets,
    activity,
    keys,
    keyRecords,
    recordPrefixes: { accessKeys: keyRecords.prefix, certificates: CERTIFICATES },
    authenticator: createAccessKeyAuthenticator({
      keys,
      activity,
      rotations,
      renewal,
      directory,
      names,
      clock,
      ...(onKeyRefused === undefined ? {} : { onRefused: onKeyRefused }),
    }),
    rotations,
    rbac,
    sources,
    authorizer: createPlatformAuthorizer(sources),
    ruleResolver: createEffectiveRules(sources),
    visibility: createVisibility(sources),
    certificates,
    catchUp,
    usage,
    usageRecords,
    activityRecords,
    noticeRecords: { view: cache.view(KEY_NOTICES), prefix: KEY_NOTICES },
    sealedRecords,
    valueRecords,
    valueClaims: createValueClaims({
      prefix: KEY_VALUES,
      accounts: valueAccounts,
      keyPrefix: keyRecords.prefix,
      storage,
      secrets,
      rememberMs: configuration.accessKeys.rememberValuesDays * DAY_MS,
      clock,
    }),
    comparisons: createGuessRateLimit(clock),
    grants: createIssuedGrants(),
    trustRules,
    issuerKeys,
    verifier,
    takenTokens: { ...takenTokens, storage, accounts: takenAccounts },
    identityProviders,
    signInRecords: { view: cache.view(SIGN_INS), prefix: SIGN_INS, storage },
    [Symbol.dispose]() {
      for (const follower of [
        takenAccounts,
        valueAccounts,
        issuersFollowed,
        providersFollowed,
        issuerKeys,
        trustRules,
        identityProviders,
        certificates,
        instances,
        projects,
        rbac,
        keys,
        directory,
      ])
        follower[Symbol.dispose]();
    },
  };
}

/** A rule goes back to the keys that it was written with, as a key does. */
function writerError(
  origins: readonly KeyOrigin[],
  parents: readonly string[],
  keys: Pick<LiveAccessKeyIndex, "byName" | "byUid" | "refusalOf">,
): string | undefined {
  if (isVoid(origins, (name) => keys.byName(name))) return "the access key that created the rule was compromised";
  for (const uid of parents) {
    const key = keys.byUid(uid);
    if (key === undefined) return "the access key that the rule was written with does not exist";
    const why = keys.refusalOf(key);
    if (why !== undefined) return `the access key that the rule was written with is refused: ${why}`;
  }
  return undefined;
}
