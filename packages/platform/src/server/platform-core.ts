// What the whole platform decides by: who there is, which keys they hold, and the one decision point. All of it is in memory and
// follows the store.

import type { RuleResolver } from "@postern/apiserver/authorization/authorizer";
import { createCachedRbacSource } from "@postern/apiserver/authorization/rbac/cached-rbac-source";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createResourceKeys } from "@postern/apiserver/registry/resource-keys";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { rbacViews } from "@postern/apiserver/server/standard-surface";
import { restrictionNames } from "../access-keys/access-key-restrictions.ts";
import { type AccessKeySecrets, createAccessKeySecrets } from "../access-keys/access-key-secrets.ts";
import { createAccessKeyIndex, type LiveAccessKeyIndex } from "../access-keys/create-access-key-index.ts";
import { createLastActivity, type LastActivity } from "../access-keys/last-activity.ts";
import {
  type AccessKeyAuthenticator,
  createAccessKeyAuthenticator,
} from "../authentication/access-key-authenticator.ts";
import type { DecisionSources } from "../authorization/decision.ts";
import { createEffectiveRules } from "../authorization/effective-rules.ts";
import { createInstanceFacts } from "../authorization/instance-facts.ts";
import { createPlatformAuthorizer, type PlatformAuthorizer } from "../authorization/platform-authorizer.ts";
import { createProjectFacts } from "../authorization/project-facts.ts";
import { createVisibility, type Visibility } from "../authorization/visibility.ts";
import type { Configuration } from "../config/configuration.ts";
import { createDirectory } from "../directory/create-directory.ts";
import type { Directory } from "../directory/directory.ts";
import { createPlatformNames, type PlatformNames } from "../platform-names.ts";
import type { ServerKeys } from "./server-keys.ts";

/** The part of the store that holds the management API's objects. */
export const MANAGEMENT = "management";

export type PlatformCore = Disposable & {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly secrets: AccessKeySecrets;
  readonly activity: LastActivity;
  readonly keys: LiveAccessKeyIndex;
  /** Where the records of access keys are. */
  readonly keyRecords: ViewPrefix;
  readonly authenticator: AccessKeyAuthenticator;
  readonly rbac: RbacSource;
  readonly sources: DecisionSources;
  readonly authorizer: PlatformAuthorizer;
  readonly ruleResolver: RuleResolver;
  readonly visibility: Visibility;
};

export type PlatformCoreOptions = {
  readonly configuration: Configuration;
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly serverKeys: ServerKeys;
};

/** The cache must be ready. */
export function createPlatformCore({ configuration, cache, runtime, serverKeys }: PlatformCoreOptions): PlatformCore {
  const { clock, scheduler, random } = runtime;
  const names = createPlatformNames(configuration.platform);
  const view = (resource: string, namespaced: boolean): ViewPrefix => {
    const { prefix } = createResourceKeys(MANAGEMENT, { group: names.managementGroup, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };

  const directory = createDirectory({ users: view("users", false), teams: view("teams", false), scheduler });
  const secrets = createAccessKeySecrets({ platformName: names.name, serverKey: serverKeys.accessKeys, random });
  const activity = createLastActivity();
  const keyRecords = view("ownedaccesskeys", false);
  const keys = createAccessKeyIndex({
    ...keyRecords,
    directory,
    secrets,
    restrictionNames: restrictionNames(names.name),
    activity,
    maxTTLSeconds: configuration.accessKeys.maxTTLSeconds,
    clock,
    scheduler,
  });
  const rbac = createCachedRbacSource(rbacViews(MANAGEMENT, cache), scheduler);
  const projects = createProjectFacts(view("projects", false), scheduler);
  const instanceViews = {
    virtualclusterinstances: view("virtualclusterinstances", true),
    spaceinstances: view("spaceinstances", true),
  };
  const instances = createInstanceFacts(instanceViews, scheduler);
  const sources: DecisionSources = { names, keys, rbac, projects, instances };

  return {
    names,
    directory,
    secrets,
    activity,
    keys,
    keyRecords,
    authenticator: createAccessKeyAuthenticator({ keys, activity, directory, names, clock }),
    rbac,
    sources,
    authorizer: createPlatformAuthorizer(sources),
    ruleResolver: createEffectiveRules(sources),
    visibility: createVisibility(sources),
    [Symbol.dispose]() {
      for (const follower of [instances, projects, rbac, keys, directory]) follower[Symbol.dispose]();
    },
  };
}
