// The writer of a policy or binding must be able to read its parameters: otherwise error messages would reveal them.
// Source: k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy{,binding}/authz.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { forbiddenError } from "@postern/apimachinery/validation/field-error";
import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { systemUser } from "@postern/apiserver/context/system-context";
import type { AdmissionAttributes, AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource, ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { ADMISSION_GROUP, type Policy, type PolicyBinding, type PolicySpec } from "./validating-admission-policy.ts";

export type ParamsAccessDeps = {
  readonly validatingPolicies: InstalledResource;
  readonly mutatingPolicies: InstalledResource;
  readonly registry: Pick<ResourceRegistry, "resources">;
  readonly authorizer: Authorizer;
};

type Target = Pick<AuthorizationAttributes, "apiGroup" | "apiVersion" | "resource" | "namespace" | "name">;

/** The check runs after the object is known to be valid, and answers 422 as upstream. */
export function createParamsAccess({
  validatingPolicies,
  mutatingPolicies,
  registry,
  authorizer,
}: ParamsAccessDeps): AdmissionPlugin {
  return {
    name: "PolicyParamsAccess",

    async validate(attributes) {
      const { resource, context, object, oldObject } = attributes;
      if (resource.group !== ADMISSION_GROUP || object === undefined || context.user === systemUser) return;
      // Both have passed the schema of their kind.
      if (resource.kind.endsWith("AdmissionPolicy"))
        await checkPolicy(attributes, object as Policy, oldObject as Policy | undefined);
      if (resource.kind.endsWith("AdmissionPolicyBinding"))
        await checkBinding(attributes, object as PolicyBinding, oldObject as PolicyBinding | undefined);
    },
  };

  async function checkPolicy(
    attributes: AdmissionAttributes,
    { spec }: Policy,
    old: Policy | undefined,
  ): Promise<void> {
    const { paramKind } = spec ?? {};
    if (paramKind === undefined || equalJson(paramKind, old?.spec?.paramKind)) return;
    if (await mayGet(attributes.context, { ...resourceOf(paramKind), namespace: "*", name: "*" })) return;
    refuse(
      attributes,
      "spec.paramKind",
      `must have "get" permission on all objects of the referenced paramKind (kind=${paramKind.kind}, apiVersion=${paramKind.apiVersion})`,
    );
  }

  async function checkBinding(
    attributes: AdmissionAttributes,
    { spec }: PolicyBinding,
    old: PolicyBinding | undefined,
  ): Promise<void> {
    const { paramRef, policyName = "" } = spec ?? {};
    if (paramRef === undefined) return;
    if (equalJson(paramRef, old?.spec?.paramRef) && policyName === old?.spec?.policyName) return;
    const policies = attributes.resource.kind.startsWith("Mutating") ? mutatingPolicies : validatingPolicies;
    const policy = policies.view.get(policies.keys.of("", policyName))?.decode() as Policy | undefined;
    const { namespace = "", name = "" } = paramRef;
    if (await mayGet(attributes.context, { ...resourceOf(policy?.spec?.paramKind), namespace, name })) return;
    refuse(attributes, "spec.paramRef", 'does not have "get" permission on the object referenced by paramRef');
  }

  /** An unknown kind may turn out to be anything. */
  function resourceOf(
    paramKind: PolicySpec["paramKind"],
  ): Pick<AuthorizationAttributes, "apiGroup" | "apiVersion" | "resource"> {
    const parsed = paramKind === undefined ? undefined : parseApiVersion(paramKind.apiVersion ?? "");
    if (parsed === undefined) return { apiGroup: "*", apiVersion: "*", resource: "*" };
    const { group, version } = parsed;
    const found = registry.resources.find(
      ({ definition }) =>
        definition.group === group && definition.version === version && definition.kind === paramKind?.kind,
    );
    return { apiGroup: group, apiVersion: version, resource: found?.definition.plural ?? "*" };
  }

  /** The permissions of the user and the limits of its credential must both allow it. */
  async function mayGet({ user, credential, outerAuthorizer }: RequestContext, target: Target): Promise<boolean> {
    const asked: AuthorizationAttributes = {
      user,
      credential,
      verb: "get",
      isResourceRequest: true,
      subresource: "",
      path: "",
      ...target,
    };
    for (const each of [outerAuthorizer, authorizer]) {
      if (each !== undefined && (await each.authorize(asked)).verdict !== "allow") return false;
    }
    return true;
  }
}

function refuse({ resource, object, context: { user } }: AdmissionAttributes, field: string, why: string): never {
  throw invalidObjectError(resource, object?.metadata.name ?? "", [
    forbiddenError(field, `user ${quoteGo(user.name)} ${why}`),
  ]);
}
