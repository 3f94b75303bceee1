// ClusterProfiles: the virtual clusters of a project, as controllers for many clusters find them. Made of the instances, and read-only.

import {
  CLUSTER_INVENTORY_GROUP,
  type ClusterProfile,
  clusterProfileFields,
  EXEC_EXTENSION,
  type ExecExtension,
} from "@postern/api/cluster-profile";
import type { PlatformNames } from "@postern/api/platform-names";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import type { PlatformEndpoint } from "../../platform-endpoint.ts";
import { platformAddress } from "../virtual-cluster-instances/subresources/server-address.ts";
import { clusterProfileOf } from "./cluster-profile.ts";

export type ClusterProfileDeps = {
  readonly names: PlatformNames;
  readonly endpoint: PlatformEndpoint;
  readonly visibility: ObjectVisibility;
};

const AUTHORITY_CHANGED = "the CA of the server has changed; list again";

export const clusterProfiles = ({ names, endpoint, visibility }: ClusterProfileDeps): ResourceDefinition =>
  defineResource({
    group: CLUSTER_INVENTORY_GROUP,
    version: "v1alpha1",
    kind: "ClusterProfile",
    plural: "clusterprofiles",
    namespaced: true,
    verbs: ["get", "list", "watch"],
    storedAs: {
      group: names.managementGroup,
      version: "v1",
      kind: "VirtualClusterInstance",
      plural: "virtualclusterinstances",
    },
    conversion: {
      // Records of the instances have passed their schema.
      toServed: (record) => clusterProfileOf(record as VirtualClusterInstance, names),
      toStored() {
        throw new Error("ClusterProfiles are not written");
      },
    },
    schema: kindSchema(clusterProfileFields.schema),
    columns: [
      {
        name: "Healthy",
        type: "string",
        description: "Whether the control plane is healthy.",
        value: (profile) => healthOf(profile),
      },
      { name: "Version", type: "string", description: "Kubernetes version.", value: ".status.version.kubernetes" },
      ageColumn,
    ],
    visibility: endingWithAuthority(visibility, endpoint),
    present: withAddress(names, endpoint),
  });

// `clusterProfileOf` has made it.
const healthOf = (profile: KubeObject): string | null =>
  (profile as ClusterProfile).status?.conditions?.find(({ type }) => type === "ControlPlaneHealthy")?.status ?? null;

/** Adds how to reach the virtual cluster through the platform, where each of its credentials is valid. */
function withAddress(names: PlatformNames, endpoint: PlatformEndpoint): (object: CachedObject) => CachedObject {
  let shown = new WeakMap<CachedObject, CachedObject>();
  let [url, authority] = ["", endpoint.certificateAuthorityPem];
  return (object) => {
    if (url !== endpoint.url() || authority !== endpoint.certificateAuthorityPem) {
      shown = new WeakMap();
      [url, authority] = [endpoint.url(), endpoint.certificateAuthorityPem];
    }
    const known = shown.get(object);
    if (known !== undefined) return known;
    // The conversion above has made it.
    const profile = object.decode() as ClusterProfile;
    const result = object.withContent({
      ...profile,
      status: {
        ...profile.status,
        accessProviders: [{ name: names.name, cluster: clusterOf(profile, names, endpoint) }],
      },
    });
    shown.set(object, result);
    return result;
  };
}

function clusterOf({ metadata }: ClusterProfile, names: PlatformNames, endpoint: PlatformEndpoint) {
  const { name = "", namespace = "" } = metadata;
  const { url, certificateAuthorityPem } = platformAddress({ metadata }, { names, endpoint });
  const extension: ExecExtension = { project: names.projectOf(namespace) ?? "", namespace, virtualCluster: name };
  return {
    server: url,
    ...(certificateAuthorityPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(certificateAuthorityPem).toString("base64") }),
    extensions: [{ name: EXEC_EXTENSION, extension }],
  };
}

/** Watches end when the CA of the platform changes: nothing happens to the instances then. */
const endingWithAuthority = (visibility: ObjectVisibility, endpoint: PlatformEndpoint): ObjectVisibility => ({
  ...visibility,
  async follow(context, end) {
    const followed = await visibility.follow(context, end);
    const following = endpoint.onAuthorityChange?.(() => end(expiredError(AUTHORITY_CHANGED)));
    return {
      visible: followed.visible,
      holds: () => followed.holds(),
      [Symbol.dispose]() {
        following?.[Symbol.dispose]();
        followed[Symbol.dispose]();
      },
    };
  },
});
