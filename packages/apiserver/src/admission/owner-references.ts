// Who may make the garbage collector delete an object, or hold the deletion of its owner up.
// Source: k8s.io/kubernetes/plugin/pkg/admission/gc/gc_admission.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { type FieldError, forbiddenError } from "@postern/apimachinery/validation/field-error";
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from "../authorization/authorizer.ts";
import { type AdmissionAttributes, type AdmissionPlugin, forbiddenByAdmission } from "../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";

export type OwnerReferencesDeps = {
  readonly authorizer: Authorizer;
  /** The resource of a kind that is served; undefined for an unknown one. */
  readonly findKind: (
    group: string,
    kind: string,
  ) => Pick<ResourceDefinition, "group" | "version" | "plural" | "namespaced"> | undefined;
};

/**
 * Two rules. To change the owners of an object one must be allowed to delete it, else 403. To set `blockOwnerDeletion` one must be
 * allowed to delete the owner, else 422; upstream asks for `update` on the owner's finalizers and answers 403, against its own
 * description of the field.
 */
export const createOwnerReferencesAdmission = (deps: OwnerReferencesDeps): AdmissionPlugin => ({
  name: "OwnerReferencesPermissionEnforcement",

  validate(attributes) {
    const { operation, object, oldObject } = attributes;
    if (object === undefined || (operation !== "create" && operation !== "update")) return undefined;
    const owners = object.metadata.ownerReferences ?? [];
    const oldOwners = oldObject?.metadata.ownerReferences ?? [];
    return equalJson(owners, oldOwners) ? undefined : checkOwners(deps, attributes, owners, oldOwners);
  },
});

async function checkOwners(
  deps: OwnerReferencesDeps,
  attributes: AdmissionAttributes,
  owners: readonly OwnerReference[],
  oldOwners: readonly OwnerReference[],
): Promise<void> {
  if (attributes.operation === "update") await requireDeletable(deps, attributes);
  const errors = await Promise.all(
    owners.map((owner, index) =>
      isNewlyBlocking(owner, oldOwners) ? checkBlocking(deps, attributes, owner, index) : ([] as const),
    ),
  );
  if (errors.flat().length > 0) {
    throw invalidObjectError(attributes.resource, attributes.object?.metadata.name ?? "", errors.flat());
  }
}

const isNewlyBlocking = (owner: OwnerReference, oldOwners: readonly OwnerReference[]): boolean =>
  owner.blockOwnerDeletion === true &&
  !oldOwners.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === true);

async function requireDeletable({ authorizer }: OwnerReferencesDeps, attributes: AdmissionAttributes): Promise<void> {
  const { resource, subresource, namespace, name } = attributes;
  const target = { apiGroup: resource.group, resource: resource.plural, subresource, namespace, name };
  const decision = await mayDelete(authorizer, attributes, target);
  if (decision.verdict === "allow") return;
  const why = `cannot set an ownerRef on a resource you can't delete: ${decision.reason}, <nil>`;
  throw forbiddenByAdmission(attributes, why);
}

async function checkBlocking(
  { authorizer, findKind }: OwnerReferencesDeps,
  attributes: AdmissionAttributes,
  { apiVersion, kind, name }: OwnerReference,
  index: number,
): Promise<readonly FieldError[]> {
  const refuse = (why: string): readonly FieldError[] => [
    forbiddenError(`metadata.ownerReferences[${index}].blockOwnerDeletion`, `cannot set blockOwnerDeletion ${why}`),
  ];
  const owner = findKind(parseApiVersion(apiVersion)?.group ?? "", kind);
  if (owner === undefined) {
    return refuse(`in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`);
  }
  const namespace = owner.namespaced ? attributes.namespace : "";
  const target = { apiGroup: owner.group, resource: owner.plural, subresource: "", namespace, name };
  const decision = await mayDelete(authorizer, attributes, target);
  if (decision.verdict === "allow") return [];
  const reason = decision.reason === "" ? "" : `: ${decision.reason}`;
  return refuse(`if an ownerReference refers to a resource you can't delete${reason}`);
}

const mayDelete = async (
  authorizer: Authorizer,
  { context: { user, credential }, resource: { version } }: AdmissionAttributes,
  target: Pick<AuthorizationAttributes, "apiGroup" | "resource" | "subresource" | "namespace" | "name">,
): Promise<AuthorizationDecision> =>
  authorizer.authorize({
    user,
    credential,
    verb: "delete",
    isResourceRequest: true,
    apiVersion: version,
    path: "",
    ...target,
  });
