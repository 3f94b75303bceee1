// The fields that narrow an access key: its scope, and the older rules.

import { s } from "@postern/apimachinery/schema/builder";
import { REQUEST_TARGETS } from "./access-key-restrictions.ts";

export const accessKeyRule = s.object({
  verbs: s.list(s.string()).describe("Verbs that match. Empty: every verb."),
  resources: s
    .list(
      s.object({
        group: s.string().describe("API group; empty is the core group."),
        resources: s
          .list(s.string())
          .describe(
            "Resources that match: pods, pods/log, * for all resources, pods/* for all subresources of pods, */scale for that subresource of all. With a wildcard the entries must not overlap. Empty: everything in the group.",
          ),
        resourceNames: s
          .list(s.string())
          .describe("Names of objects that match. Needs resources. Empty: every object."),
      }),
    )
    .describe("Resources that match. Empty: every resource of every group."),
  namespaces: s
    .list(s.string())
    .describe("Namespaces that match; an empty name matches what has no namespace. Empty: every namespace."),
  nonResourceURLs: s
    .list(s.string())
    .describe("Paths outside the resources that match. A * may stand as the whole last step."),
  requestTargets: s
    .list(s.string({ enum: REQUEST_TARGETS }))
    .describe("What requests are made to: the management API, a cluster, a space or a virtual cluster. Empty: any."),
  cluster: s
    .string()
    .describe("The cluster that requests have to be made to; then requests to anything else do not match."),
  virtualClusters: s
    .list(
      s.object({
        name: s.string().describe("Name of the virtual cluster. Empty: all."),
        namespace: s.string().describe("Namespace of the virtual cluster. Empty: all."),
      }),
    )
    .describe("Virtual clusters that match, for requests made to one. Empty: all."),
});

export const accessKeyScope = s
  .object({
    roles: s
      .list(
        s.object({
          role: s
            .string()
            .describe(
              "Name of the role: agent, vcluster, network-peer, platform-cli, workspace, metrics-writer, metrics-reader or scim.",
            ),
          projects: s.list(s.string()).describe("Projects that the role applies to. Empty: all."),
          virtualClusters: s.list(s.string()).describe("Virtual clusters that the role applies to. Empty: all."),
        }),
      )
      .describe("Sets of permissions that the server manages."),
    projects: s
      .list(s.object({ project: s.string().describe("Name of the project; * is every project.") }))
      .describe("Projects that the key opens, with everything in them."),
    spaces: s
      .list(
        s.object({
          project: s.string().describe("Name of the project."),
          space: s.string().describe("Name of the space; * is every space."),
        }),
      )
      .describe("Spaces that the key opens."),
    virtualClusters: s
      .list(
        s.object({
          project: s.string().describe("Name of the project."),
          virtualCluster: s.string().describe("Name of the virtual cluster; * is every virtual cluster."),
        }),
      )
      .describe("Virtual clusters that the key opens."),
    clusters: s
      .list(s.object({ cluster: s.string().describe("Name of the cluster; * is every cluster.") }))
      .describe("Clusters that the key opens."),
    rules: s
      .list(accessKeyRule)
      .deprecated("use spec.scope.projects, spec.scope.spaces and spec.scope.virtualClusters instead")
      .describe("As spec.rules. Where both are given, both apply."),
  })
  .describe(
    "What the key is narrowed to. Absent: it may do all that its owner may. Present: only what one of its entries opens.",
  );
