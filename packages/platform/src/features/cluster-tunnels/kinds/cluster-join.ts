// POST clusters/{name}/join: a one-time value with which the agent of the cluster joins.

import { JOIN_PATH } from "@postern/api/cluster-tunnel";
import { conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Foundation } from "../../../foundation/foundation.ts";
import { isJoinable } from "../agent-keys.ts";
import type { JoinValues } from "../join-values.ts";

const KIND = "ClusterJoin";

const clusterJoinFields = s
  .object({
    status: s
      .object({
        url: s
          .string()
          .describe(
            "Address of the manifests, for kubectl apply in the cluster. It ends with the value that the agent exchanges for its key, once. Confidential.",
          ),
        certificateAuthority: s
          .string()
          .describe("CA certificates in PEM that the agent trusts for the platform. Unset for the public CAs."),
        expirationTimestamp: s.timestamp().describe("When the value expires if it is not used: after an hour."),
      })
      .describe("The response. Ignored in requests."),
  })
  .describe(
    "Requests a value with which the agent of the cluster joins. It replaces an earlier one that was not used.",
  );

/** For callers that may `create` the subresource: administrators and owners of the cluster, unless roles say otherwise. */
export const clusterJoin = (
  { names, lookup }: Pick<Foundation, "names" | "lookup">,
  joins: Pick<JoinValues, "create">,
  endpoint: { url(): string; readonly certificateAuthorityPem: string | undefined },
): Subresource => ({
  name: "join",
  kind: { group: names.managementGroup, version: "v1", kind: KIND },
  schema: kindSchema(clusterJoinFields.schema),
  description: "A value with which the agent of the cluster joins: valid once, and for an hour.",
  async create(context, body) {
    const { name } = context.info;
    const resource = { group: names.managementGroup, resource: "clusters" };
    const cluster = lookup.cluster(name);
    if (cluster === undefined) throw notFoundError(resource, name);
    const { uid = "" } = cluster.metadata;
    if (!isJoinable(cluster, uid)) {
      throw conflictError(resource, name, "an agent connects to it only while spec.networkPeer is true");
    }
    const answer = { ...body, metadata: { name } };
    if (isDryRun(createOptionsOf(context.request.query))) return { ...answer, status: {} };
    const { value, until } = await joins.create({ name, uid });
    const { certificateAuthorityPem } = endpoint;
    return {
      ...answer,
      status: {
        url: `${endpoint.url()}${JOIN_PATH}/${value}`,
        ...(certificateAuthorityPem === undefined ? {} : { certificateAuthority: certificateAuthorityPem }),
        expirationTimestamp: formatTimestamp(until),
      },
    };
  },
});
