// Shows every cluster with the authority that verifies the platform, in the annotation from which clients fill the kubeconfigs that
// they write: the platform's proxy is how a cluster is reached.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { PlatformEndpoint } from "../../clusters/platform-endpoint.ts";
import type { PlatformNames } from "../../platform-names.ts";

export type AuthorityDeps = {
  readonly names: Pick<PlatformNames, "key">;
  readonly endpoint: Pick<PlatformEndpoint, "certificateAuthorityPem">;
};

/** For the `present` of the resource. */
export const presentAuthority =
  (deps: AuthorityDeps) =>
  (object: CachedObject): CachedObject => {
    const cluster = object.decode();
    const shown = withAuthority(cluster, deps);
    return shown === cluster ? object : CachedObject.fromObject(object.key, shown);
  };

/** A cluster with an endpoint of its own has an authority of its own. */
export function withAuthority<T extends KubeObject>(cluster: T, { names, endpoint }: AuthorityDeps): T {
  const { certificateAuthorityPem } = endpoint;
  const { annotations = {} } = cluster.metadata;
  if (certificateAuthorityPem === undefined || Object.hasOwn(annotations, names.key("direct-cluster-endpoint"))) {
    return cluster;
  }
  const authority = Buffer.from(certificateAuthorityPem).toString("base64");
  const shown = { ...annotations, [names.key("direct-cluster-endpoint-ca-data")]: authority };
  return { ...cluster, metadata: { ...cluster.metadata, annotations: shown } };
}
