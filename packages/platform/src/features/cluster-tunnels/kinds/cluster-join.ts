// POST clusters/{name}/join, and the same of virtual clusters that others run: a one-time value with which the agent of the cluster joins.

import { JOIN_PATH } from "@postern/api/cluster-tunnel";
import { conflictError, notFoundError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AgentTargets } from "../agent-targets.ts";
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

/** For callers that may `create` the subresource: administrators and owners of the object, unless roles say otherwise. */
export const clusterJoin = (
  { names, lookup }: Pick<Foundation, "names" | "lookup">,
  { joins, targets }: { readonly joins: Pick<JoinValues, "create">; readonly targets: Pick<AgentTargets, "find"> },
  endpoint: { url(): string; readonly certificateAuthorityPem: string | undefined },
): Subresource => ({
  name: "join",
  kind: { group: names.managementGroup, version: "v1", kind: KIND },
  schema: kindSchema(clusterJoinFields.schema),
  description: "A value with which the agent of the cluster joins: valid once, and for an hour.",
  async create(context, body) {
    const { name, namespace, resource: plural } = context.info;
    const resource = { group: names.managementGroup, resource: plural };
    const place = { cluster: name, ...(namespace === "" ? {} : { namespace }) };
    const object = namespace === "" ? lookup.cluster(name) : lookup.virtualClusterInstance(namespace, name);
    if (object === undefined) throw notFoundError(resource, name);
    const { uid = "" } = object.metadata;
    if (targets.find(place, uid) === undefined) {
      const needed = namespace === "" ? "spec.networkPeer is true" : "spec.external and spec.networkPeer are true";
      throw conflictError(resource, name, `an agent connects to it only while ${needed}`);
    }
    const answer = { ...body, metadata: { name, ...(namespace === "" ? {} : { namespace }) } };
    if (isDryRun(createOptionsOf(context.request.query))) return { ...answer, status: {} };
    const { value, until } = await joins.create(place, uid);
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
