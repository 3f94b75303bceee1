// GET virtualclusterinstances/{name}/accesskey: the access key of a virtual cluster's control plane.

import type { PlatformNames } from "@postern/api/platform-names";
import { conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import type { ControlPlaneKeys } from "../../../control-plane-keys.ts";

/** The kind that clients of the original interface decode. */
const KIND = "VirtualClusterAccessKey";

const accessKeyFields = s
  .object({ accessKey: s.string().describe("The access key. Confidential.") })
  .describe("The key of a virtual cluster itself, which has the role vcluster for this one virtual cluster.");

export type VirtualClusterAccessKeyDeps = {
  readonly names: Pick<PlatformNames, "managementGroup">;
  readonly lookup: Pick<ObjectLookup, "virtualClusterInstance">;
  readonly controlPlaneKeys: ControlPlaneKeys;
};

export const virtualClusterAccessKey = (deps: VirtualClusterAccessKeyDeps): Subresource => {
  const { names, lookup, controlPlaneKeys } = deps;
  const resource = { group: names.managementGroup, resource: "virtualclusterinstances" };
  return {
    name: "accesskey",
    kind: { group: names.managementGroup, version: "v1", kind: KIND },
    schema: kindSchema(accessKeyFields.schema),
    description: "The key of the virtual cluster itself. Created at the first request.",
    async get(context) {
      const { namespace, name } = context.info;
      const instance = lookup.virtualClusterInstance(namespace, name);
      if (instance === undefined) throw notFoundError(resource, name);
      if (isBeingDeleted(instance)) throw conflictError(resource, name, "the virtual cluster is being deleted");
      return {
        apiVersion: `${names.managementGroup}/v1`,
        kind: KIND,
        metadata: { name, namespace },
        accessKey: await controlPlaneKeys.ofVirtualCluster(instance, context),
      };
    },
  };
};
