// The fields that narrow an access key: its scope, and the older rules.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { REQUEST_TARGETS } from "./access-key-restrictions.ts";

export const accessKeyRule = s.object({
  verbs: s.list(s.string()).describe("Verbs to match. Empty matches all."),
  resources: s
    .list(
      s.object({
        group: s.string().describe("API group; empty for the core group."),
        resources: s
          .list(s.string())
          .describe(
            "Resources that match: pods, pods/log, * for all resources, pods/* for all subresources of pods, */scale for that subresource of all. With a wildcard the entries must not overlap. Empty: everything in the group.",
          ),
        resourceNames: s.list(s.string()).describe("Names of objects to match. Requires resources. Empty matches all."),
      }),
    )
    .describe("Resources to match. Empty matches all resources of all groups."),
  namespaces: s
    .list(s.string())
    .describe("Namespaces to match; the empty name matches cluster-scoped resources. Empty matches all."),
  nonResourceURLs: s.list(s.string()).describe("Non-resource paths to match. The last step may be *."),
  requestTargets: s
    .list(s.string({ enum: REQUEST_TARGETS }))
    .describe("Targets to match: the management API, a cluster, a space or a virtual cluster. Empty matches all."),
  cluster: s.string().describe("Cluster to match. If set, requests to other targets do not match."),
  virtualClusters: s
    .list(
      s.object({
        name: s.string().describe("Name of the virtual cluster. Empty matches all."),
        namespace: s.string().describe("Namespace of the virtual cluster. Empty matches all."),
      }),
    )
    .describe("Virtual clusters to match, for requests to virtual clusters. Empty matches all."),
});

const labelSelector = s.object(
  {
    matchLabels: s.map(s.string()).describe("Labels that a virtual cluster must have, all of them."),
    matchExpressions: s
      .list(
        s.object({
          key: s.string().describe("Key of the label."),
          operator: s.string().describe("In, NotIn, Exists or DoesNotExist."),
          values: s.list(s.string()).describe("Values for In and NotIn."),
        }),
      )
      .describe("Requirements for labels of a virtual cluster, all of which must hold."),
  },
  { atomic: true },
);

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
          projects: s.list(s.string()).describe("Projects that the role applies to. Empty for all."),
          virtualClusters: s.list(s.string()).describe("Virtual clusters that the role applies to. Empty for all."),
        }),
      )
      .describe("Predefined sets of permissions."),
    projects: s
      .list(s.object({ project: s.string().describe("Name of the project; * for all.") }))
      .describe("Projects that the key may access, with everything in them."),
    spaces: s
      .list(
        s.object({
          project: s.string().describe("Name of the project."),
          space: s.string().describe("Name of the space; * for all."),
        }),
      )
      .describe("Spaces that the key may access."),
    virtualClusters: s
      .list(
        s.object({
          project: s.string().describe("Name of the project."),
          virtualCluster: s
            .string()
            .describe("Name of the virtual cluster; * for all. May be left out if selector is set."),
          selector: labelSelector.describe(
            "Labels that the virtual clusters must have now: the key reaches those that match, and no longer those that do not. With a name as well, only that one, while it matches.",
          ),
        }),
      )
      .describe("Virtual clusters that the key may access."),
    clusters: s
      .list(s.object({ cluster: s.string().describe("Name of the cluster; * for all.") }))
      .describe("Clusters that the key may access."),
    rules: s
      .list(accessKeyRule)
      .deprecated("use spec.scope.projects, spec.scope.spaces and spec.scope.virtualClusters instead")
      .describe("Same as spec.rules. If both are set, both apply."),
  })
  .describe(
    "Limits the key to the listed projects, spaces, virtual clusters, clusters and roles. Unset: the key has all permissions of its owner.",
  );

/** A scope as clients write it. */
export type KeyScope = Infer<typeof accessKeyScope>;

export const confirmation = s
  .object({
    certificateSHA256: s
      .string({ maxLength: 95 })
      .describe(
        "SHA-256 of the client certificate in DER: hexadecimal as openssl x509 -fingerprint -sha256 prints it, or base64url as x5t#S256. A self-signed certificate is enough.",
      ),
    jwkThumbprint: s
      .string({ maxLength: 43 })
      .describe(
        "SHA-256 thumbprint (RFC 7638) of the public key that signs a DPoP proof (RFC 9449) of each request, in base64url. Not together with certificateSHA256.",
      ),
  })
  .describe(
    "Client certificate that requests with the key have to present in the TLS handshake, or key pair that has to sign each of them: a stolen value alone is refused. Keys and kubeconfig tokens that are created with the key have the same, or one of their own.",
  );

export const audiences = s
  .list(s.string({ maxLength: 512 }))
  .describe(
    "Receivers that accept the key: postern:platform for the management API, postern:vcluster:<namespace>:<name>, postern:space:<namespace>:<name> and postern:cluster:<name> for requests to these and for their token reviews, or any other name for token reviews that ask for it. The first word is the name of the platform. Unset: all. Keys and kubeconfigs that are created with the key have the same audiences, or fewer.",
  );

export const allowedSourceRanges = s
  .list(s.string({ maxLength: 64 }))
  .describe(
    "IP addresses and networks, such as 10.20.0.0/16 or 2001:db8::/32, that requests with the key may come from. Unset: from anywhere. Keys, kubeconfigs and certificates that are created with the key are accepted from nowhere else either.",
  );
