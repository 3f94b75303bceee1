// GET projects/{name}/clusters: the clusters where instances of the project may be placed.

import { clusterFields } from "@postern/api/cluster";
import type { PlatformNames } from "@postern/api/platform-names";
import { allowsCluster } from "@postern/api/project";
import { notFoundError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import type { ObjectLookup } from "../../../../../foundation/lookup/object-lookup.ts";
import { withAuthority } from "../../../../virtual-clusters/kinds/clusters/present-authority.ts";
import type { PlatformEndpoint } from "../../../../virtual-clusters/platform-endpoint.ts";

const KIND = "ProjectClusters";

const projectClustersFields = s
  .object({
    clusters: s.list(s.field(kindSchema(clusterFields.schema))).describe("The clusters, by name."),
  })
  .describe("The clusters that a project may use.");

export const projectClusters = ({
  names,
  lookup,
  endpoint,
}: {
  readonly names: Pick<PlatformNames, "managementGroup" | "key">;
  readonly lookup: Pick<ObjectLookup, "project" | "clusters">;
  readonly endpoint: Pick<PlatformEndpoint, "certificateAuthorityPem">;
}): Subresource => ({
  name: "clusters",
  kind: { group: names.managementGroup, version: "v1", kind: KIND },
  schema: kindSchema(projectClustersFields.schema),
  description: "The clusters that instances of the project may be placed in.",
  async get({ info: { name } }) {
    const project = lookup.project(name);
    if (project === undefined) throw notFoundError({ group: names.managementGroup, resource: "projects" }, name);
    const clusters = lookup
      .clusters()
      .filter(({ metadata }) => allowsCluster(project, metadata.name ?? ""))
      .map((cluster) => withAuthority(cluster, names, endpoint));
    return { apiVersion: `${names.managementGroup}/v1`, kind: KIND, metadata: { name }, clusters };
  },
});
