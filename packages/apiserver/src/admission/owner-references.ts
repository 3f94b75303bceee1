// Checks that a user may make the garbage collector delete an object, or hold the deletion of its owner up.
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
  readonly findKind: (group: string, kind: string) => OwnerKind | undefined;
  /** `update` on the finalizers of an owner is enough to set `blockOwnerDeletion`, as upstream. Default: false. */
  readonly finalizersSuffice?: boolean;
};

type OwnerKind = Pick<ResourceDefinition, "group" | "version" | "plural" | "namespaced">;

/**
 * Two rules. To change the owners of an object one must be allowed to delete it, else 403. To set `blockOwnerDeletion` one must be
 * allowed to delete the owner, else 422; upstream asks for `update` on the owner's finalizers and answers 403, against its own
 * description of the field. Clusters accept either.
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
  const blockedBefore = new Set(
    oldOwners.filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true).map(({ uid }) => uid),
  );
  const kinds = new Map<string, OwnerKind | undefined>();
  const errors: FieldError[] = [];
  for (const [index, owner] of owners.entries()) {
    if (owner.blockOwnerDeletion !== true || blockedBefore.has(owner.uid)) continue;
    // A decision each: others get their turn between them.
    await attributes.context.pause();
    const id = `${owner.apiVersion}/${owner.kind}`;
    if (!kinds.has(id)) kinds.set(id, deps.findKind(parseApiVersion(owner.apiVersion)?.group ?? "", owner.kind));
    errors.push(...(await checkBlocking(deps, attributes, owner, kinds.get(id), index)));
  }
  if (errors.length > 0) {
    throw invalidObjectError(attributes.resource, attributes.object?.metadata.name ?? "", errors);
  }
}

async function requireDeletable({ authorizer }: OwnerReferencesDeps, attributes: AdmissionAttributes): Promise<void> {
  const { resource, subresource, namespace, name } = attributes;
  const target = { apiGroup: resource.group, resource: resource.plural, subresource, namespace, name };
  const decision = await authorizeFor(authorizer, attributes, { verb: "delete", ...target });
  if (decision.verdict === "allow") return;
  const why = `cannot set an ownerRef on a resource you can't delete: ${decision.reason}, <nil>`;
  throw forbiddenByAdmission(attributes, why);
}

async function checkBlocking(
  { authorizer, finalizersSuffice = false }: OwnerReferencesDeps,
  attributes: AdmissionAttributes,
  { apiVersion, kind, name }: OwnerReference,
  owner: OwnerKind | undefined,
  index: number,
): Promise<readonly FieldError[]> {
  const refuse = (why: string): readonly FieldError[] => [
    forbiddenError(`metadata.ownerReferences[${index}].blockOwnerDeletion`, `cannot set blockOwnerDeletion ${why}`),
  ];
  if (owner === undefined) {
    return refuse(`in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`);
  }
  const namespace = owner.namespaced ? attributes.namespace : "";
  const target = { apiGroup: owner.group, resource: owner.plural, subresource: "", namespace, name };
  const decision = await authorizeFor(authorizer, attributes, { verb: "delete", ...target });
  if (decision.verdict === "allow") return [];
  if (finalizersSuffice) {
    const finalizing = { verb: "update", ...target, subresource: "finalizers" };
    if ((await authorizeFor(authorizer, attributes, finalizing)).verdict === "allow") return [];
  }
  const reason = decision.reason === "" ? "" : `: ${decision.reason}`;
  return refuse(`if an ownerReference refers to a resource you can't delete${reason}`);
}

const authorizeFor = async (
  authorizer: Authorizer,
  { context: { user, credential }, resource: { version } }: AdmissionAttributes,
  target: Pick<AuthorizationAttributes, "verb" | "apiGroup" | "resource" | "subresource" | "namespace" | "name">,
): Promise<AuthorizationDecision> =>
  authorizer.authorize({ user, credential, isResourceRequest: true, apiVersion: version, path: "", ...target });
