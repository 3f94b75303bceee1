// Shows the CA of the platform in annotations of every cluster. Clients copy it into the kubeconfigs that they write: clusters are reached through
// the platform's proxy.

import type { PlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { PlatformEndpoint } from "../../platform-endpoint.ts";

type Names = Pick<PlatformNames, "key">;
type Endpoint = Pick<PlatformEndpoint, "certificateAuthorityPem">;

/** For the `present` of the resource. */
export const presentAuthority =
  (names: Names, endpoint: Endpoint) =>
  (object: CachedObject): CachedObject => {
    const cluster = object.decode();
    const shown = withAuthority(cluster, names, endpoint);
    return shown === cluster ? object : CachedObject.fromObject(object.key, shown);
  };

/** A cluster with an endpoint of its own has an authority of its own. */
export function withAuthority<T extends KubeObject>(cluster: T, names: Names, endpoint: Endpoint): T {
  const { certificateAuthorityPem } = endpoint;
  const { annotations = {} } = cluster.metadata;
  if (certificateAuthorityPem === undefined || Object.hasOwn(annotations, names.key("direct-cluster-endpoint"))) {
    return cluster;
  }
  const authority = Buffer.from(certificateAuthorityPem).toString("base64");
  const shown = {
    ...annotations,
    [names.key("direct-cluster-endpoint-ca-data")]: authority,
    // A kubeconfig that has a CA and skips its check is refused: a client that was signed in to with `--insecure` would write one.
    [names.key("direct-cluster-endpoint-insecure")]: "false",
  };
  return { ...cluster, metadata: { ...cluster.metadata, annotations: shown } };
}
