// The reach of a directory over users and teams, through SCIM: only with those that it created, never with the last administrator, and it takes no
// name to which a ClusterRoleBinding gives permissions already. Permissions that single projects granted to a name count for the user whom the directory gives it.

import type { PlatformNames } from "@postern/api/platform-names";
import { type ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer, policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { uncoveredRules } from "@postern/apiserver/authorization/rbac/rule-coverage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Configuration } from "../../../foundation/config/configuration.ts";
import { isNameOfOtherCluster } from "../../../foundation/kinds/claimed-names.ts";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import { mayImpersonate } from "../../authorization/impersonation.ts";
import { provisionerOf } from "../../authorization/key-standing.ts";
import type { GrantCheckDeps } from "../../authorization/kinds/grant-check.ts";
import type { Directory, DirectoryUser } from "../directory.ts";

export type ProvisionedDeps = GrantCheckDeps & {
  readonly directory: Directory;
  readonly configuration: Pick<Configuration, "frontProxy">;
};

type Holder = AccessKeyOwner & { readonly kind: "user" | "team" };

const annotationOf = (names: PlatformNames): string => names.key("provisioned-by");

const refusal = ({ kind, name }: Holder, why: string, { names }: ProvisionedDeps): ApiError =>
  forbiddenRequestError({ group: names.managementGroup, resource: `${kind}s` }, name, why);

/**
 * The object with the directory that provisions it, which the server records. Callers that may impersonate the owner may hand it to a directory, or
 * take it away; other writers keep what is recorded. Throws ApiError 403.
 */
export async function withProvisioner<T extends Pick<KubeObject, "metadata">>(
  object: T,
  old: T | undefined,
  holder: Holder,
  context: RequestContext,
  deps: ProvisionedDeps,
): Promise<T> {
  const key = annotationOf(deps.names);
  const [before, after] = [old?.metadata.annotations?.[key], object.metadata.annotations?.[key]];
  const provisioner = provisionerOf(context.credential);
  if (provisioner !== undefined) return withAnnotation(object, key, old === undefined ? provisioner : before);
  if (before === after || (await mayImpersonate(holder, context, deps))) return object;
  if (after === undefined) return withAnnotation(object, key, before);
  throw refusal(holder, `to set the annotation ${key} you need the verb impersonate on the ${holder.kind}`, deps);
}

const withAnnotation = <T extends Pick<KubeObject, "metadata">>(
  object: T,
  key: string,
  value: string | undefined,
): T =>
  value === undefined
    ? object
    : {
        ...object,
        metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [key]: value } },
      };

/** Throws ApiError 403 unless the directory of the request created what it changes. */
export function checkProvisioned(
  old: Pick<KubeObject, "metadata">,
  holder: Holder,
  context: RequestContext,
  deps: ProvisionedDeps,
): void {
  const provisioner = provisionerOf(context.credential);
  const recorded = old.metadata.annotations?.[annotationOf(deps.names)];
  if (provisioner === undefined || recorded === provisioner) return;
  throw refusal(
    holder,
    `the ${holder.kind} is not provisioned by this directory: an administrator can hand it over with the annotation ${annotationOf(deps.names)}=${provisioner}`,
    deps,
  );
}

/** Throws ApiError 403 where roles are bound to the name already, or may be: their administrator meant another holder, or none. */
export function checkPowerless(holder: Holder, as: UserInfo, deps: ProvisionedDeps): void {
  if (isNameOfOtherCluster(as.name, deps.configuration))
    throw refusal(
      holder,
      `names that begin with ${deps.configuration.frontProxy.prefix} are those of another cluster: an administrator must create the ${holder.kind}`,
      deps,
    );
  if (policyRulesOf(createRbacAuthorizer({ source: deps.rbac }).rulesFor(as, "")).length === 0) return;
  throw refusal(holder, `roles are bound to its name already: an administrator must create the ${holder.kind}`, deps);
}

const EVERYTHING: PolicyRule = {
  verbs: ["*"],
  apiGroups: ["*"],
  resources: ["*"],
  resourceNames: [],
  nonResourceURLs: [],
};

const isAdministrator = ({ name, subject, groups, isBot, locked }: DirectoryUser, deps: ProvisionedDeps): boolean => {
  if (isBot || locked) return false;
  const { names, directory, rbac } = deps;
  const teams = directory.teamsOf(name).map((team) => names.teamGroup(team.name));
  const as = { name: subject, groups: [...groups, ...teams, names.userGroup(name)] };
  return (
    uncoveredRules(policyRulesOf(createRbacAuthorizer({ source: rbac }).rulesFor(as, "")), [EVERYTHING]).length === 0
  );
};

/** Throws ApiError 403 if a person is an administrator now, and none is left without those that `loses` names. */
export function checkAdministratorsStay(
  holder: Holder,
  loses: (user: DirectoryUser) => boolean,
  deps: ProvisionedDeps,
): void {
  let isAffected = false;
  const others: DirectoryUser[] = [];
  for (const user of deps.directory.users()) {
    if (!loses(user)) others.push(user);
    else isAffected ||= isAdministrator(user, deps);
  }
  if (!isAffected || others.some((user) => isAdministrator(user, deps))) return;
  throw refusal(holder, "it would leave the platform without an administrator", deps);
}
