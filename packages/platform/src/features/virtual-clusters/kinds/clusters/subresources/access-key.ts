// GET clusters/{name}/accesskey: the access key with which the agent of a cluster reports to the platform.

import type { PlatformNames } from "@postern/api/platform-names";
import { notFoundError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import type { ControlPlaneKeys } from "../../../control-plane-keys.ts";
import type { PlatformEndpoint } from "../../../platform-endpoint.ts";

const KIND = "ClusterAccessKey";

/** Agents read the host from a field that bears the platform's name. */
const hostField = ({ name }: Pick<PlatformNames, "name">): string => `${name}Host`;

const clusterAccessKeyFields = (names: Pick<PlatformNames, "name">) =>
  s
    .object({
      accessKey: s.string().describe("The access key. Confidential."),
      [hostField(names)]: s.string().describe("Host, or host and port, of the platform."),
      insecure: s.boolean().describe("Whether to skip verification of the platform's certificate."),
      caCert: s
        .string()
        .describe("CA certificates in PEM for the platform's certificate, base64-encoded. Defaults to the public CAs."),
    })
    .describe("Address and access key with which a cluster connects to the platform.");

export type ClusterAccessKeyDeps = {
  readonly names: Pick<PlatformNames, "managementGroup" | "name">;
  readonly lookup: Pick<ObjectLookup, "cluster">;
  readonly keys: ControlPlaneKeys;
  readonly endpoint: PlatformEndpoint;
};

/** The key is returned to callers that may `get` the subresource: administrators, unless roles say otherwise. */
export const clusterAccessKey = ({ names, lookup, keys, endpoint }: ClusterAccessKeyDeps): Subresource => ({
  name: "accesskey",
  kind: { group: names.managementGroup, version: "v1", kind: KIND },
  schema: kindSchema(clusterAccessKeyFields(names).schema),
  description: "The key with which the agent of the cluster reports to the platform. Created at the first request.",
  async get(context) {
    const { name } = context.info;
    const cluster = lookup.cluster(name);
    if (cluster === undefined) throw notFoundError({ group: names.managementGroup, resource: "clusters" }, name);
    const { host } = new URL(endpoint.url());
    const { certificateAuthorityPem } = endpoint;
    return {
      apiVersion: `${names.managementGroup}/v1`,
      kind: KIND,
      metadata: { name },
      accessKey: await keys.ofCluster(cluster, context),
      [hostField(names)]: host,
      insecure: false,
      ...(certificateAuthorityPem === undefined
        ? {}
        : { caCert: Buffer.from(certificateAuthorityPem).toString("base64") }),
    };
  },
});
