// Who may make the garbage collector delete an object, or hold the deletion of its owner up.
// Source: k8s.io/kubernetes/plugin/pkg/admission/gc/gc_admission.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import type { OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { type FieldError, forbiddenError } from "@postern/apimachinery/validation/field-error";
import type { AuthorizationDecision, Authorizer } from "../authorization/authorizer.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./admission-plugin.ts";
import { forbiddenByAdmission } from "./forbidden-by-admission.ts";

export type OwnerReferencesOptions = {
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
export function createOwnerReferencesAdmission({ authorizer, findKind }: OwnerReferencesOptions): AdmissionPlugin {
  const mayDelete = async (
    { context, resource: { version } }: AdmissionAttributes,
    target: {
      readonly group: string;
      readonly resource: string;
      readonly subresource?: string;
      readonly namespace: string;
      readonly name: string;
    },
  ): Promise<AuthorizationDecision> =>
    authorizer.authorize({
      user: context.user,
      credential: context.credential,
      verb: "delete",
      isResourceRequest: true,
      apiGroup: target.group,
      apiVersion: version,
      resource: target.resource,
      subresource: target.subresource ?? "",
      namespace: target.namespace,
      name: target.name,
      path: "",
    });

  const checkBlocking = async (
    attributes: AdmissionAttributes,
    reference: OwnerReference,
    index: number,
  ): Promise<readonly FieldError[]> => {
    const path = `metadata.ownerReferences[${index}].blockOwnerDeletion`;
    const { apiVersion, kind, name } = reference;
    const owner = findKind(parseApiVersion(apiVersion)?.group ?? "", kind);
    if (owner === undefined) {
      return [
        forbiddenError(
          path,
          `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`,
        ),
      ];
    }
    const decision = await mayDelete(attributes, {
      group: owner.group,
      resource: owner.plural,
      namespace: owner.namespaced ? attributes.namespace : "",
      name,
    });
    if (decision.verdict === "allow") return [];
    return [
      forbiddenError(
        path,
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't delete" +
          (decision.reason === "" ? "" : `: ${decision.reason}`),
      ),
    ];
  };

  return {
    name: "OwnerReferencesPermissionEnforcement",

    async validate(attributes) {
      const { operation, object, oldObject, resource } = attributes;
      if (object === undefined || (operation !== "create" && operation !== "update")) return;
      const owners = object.metadata.ownerReferences ?? [];
      const oldOwners = oldObject?.metadata.ownerReferences ?? [];
      if (equalJson(owners, oldOwners)) return;

      if (operation === "update") {
        const { subresource, namespace, name } = attributes;
        const { group, plural } = resource;
        const decision = await mayDelete(attributes, { group, resource: plural, subresource, namespace, name });
        if (decision.verdict !== "allow") {
          const why = `cannot set an ownerRef on a resource you can't delete: ${decision.reason}, <nil>`;
          throw forbiddenByAdmission(attributes, why);
        }
      }

      const errors = await Promise.all(
        owners.map((owner, index) =>
          isNewlyBlocking(owner, oldOwners) ? checkBlocking(attributes, owner, index) : ([] as const),
        ),
      );
      if (errors.flat().length > 0) {
        throw invalidObjectError(resource, object.metadata.name ?? "", errors.flat());
      }
    },
  };
}

const isNewlyBlocking = (owner: OwnerReference, oldOwners: readonly OwnerReference[]): boolean =>
  owner.blockOwnerDeletion === true &&
  !oldOwners.some(({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion === true);
