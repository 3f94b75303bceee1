// NetworkPolicies: who may talk to which pods. Kept as they are: no traffic goes through this server.
// Source: k8s.io/kubernetes/pkg/registry/networking/networkpolicy/strategy.go, pkg/apis/networking/validation/validation.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { labelSelectorText } from "../workloads/selector-text.ts";
import { warningHooks } from "../workloads/status-strategy.ts";
import { networkPolicyWarnings, validateNetworkPolicySpec } from "./validate-network-policy.ts";

const peerFields = s.object({
  podSelector: labelSelector.describe(
    "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
  ),
  namespaceSelector: labelSelector.describe(
    "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
  ),
  ipBlock: s
    .object({
      cidr: s
        .string()
        .required()
        .describe('cidr is a string representing the IPBlock Valid examples are "192.168.1.0/24" or "2001:db8::/64"'),
      except: s
        .list(s.string())
        .describe(
          'except is a slice of CIDRs that should not be included within an IPBlock Valid examples are "192.168.1.0/24" or "2001:db8::/64" Except values will be rejected if they are outside the cidr range',
        ),
    })
    .describe("IPBlock describes a particular CIDR (Ex."),
});

const portFields = s.object({
  protocol: s
    .string()
    .default("TCP")
    .describe(
      "protocol represents the protocol (TCP, UDP, or SCTP) which traffic must match. If not specified, this field defaults to TCP.",
    ),
  port: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
  endPort: s
    .int32()
    .describe(
      "endPort indicates that the range of ports from port to endPort if set, inclusive, should be allowed by the policy.",
    ),
});

const policyFields = s
  .object({
    spec: s
      .object({
        podSelector: labelSelector.describe(
          "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
        ),
        ingress: s
          .list(
            s.object({
              ports: s
                .list(portFields)
                .describe("List of ports that the rule applies to. Empty or missing: all ports."),
              from: s
                .list(peerFields)
                .describe("from is a list of sources which should be able to access the pods selected for this rule."),
            }),
          )
          .describe("ingress is a list of ingress rules to be applied to the selected pods."),
        egress: s
          .list(
            s.object({
              ports: s
                .list(portFields)
                .describe("List of ports that the rule applies to. Empty or missing: all ports."),
              to: s
                .list(peerFields)
                .describe("to is a list of destinations for outgoing traffic of pods selected for this rule."),
            }),
          )
          .describe("egress is a list of egress rules to be applied to the selected pods."),
        policyTypes: s
          .list(s.string())
          .describe("policyTypes is a list of rule types that the NetworkPolicy relates to."),
      })
      .describe("NetworkPolicySpec provides the specification of a NetworkPolicy"),
  })
  .describe("NetworkPolicy describes what network traffic is allowed for a set of Pods");

type NetworkPolicy = KindOf<typeof policyFields>;
function withTypes(object: KubeObject): KubeObject {
  // Bodies of built-in kinds have passed their types by now.
  const { spec } = object as NetworkPolicy;
  if ((spec?.policyTypes ?? []).length > 0) return object;
  const policyTypes = (spec?.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
  return { ...object, spec: { ...spec, policyTypes } };
}

export const networkPolicies: ResourceDefinition = defineBuiltin({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  shortNames: ["netpol"],
  namespaced: true,
  tracksGeneration: true,
  schema: kindSchema(policyFields.schema),
  columns: [
    {
      name: "Pod-Selector",
      type: "string",
      description:
        "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
      value: (object) => labelSelectorText((object as NetworkPolicy).spec?.podSelector),
    },
    ageColumn,
  ],
  setDefaults: withTypes,
  strategy: {
    allowUnconditionalUpdate: true,
    validate: ({ spec = {} }: NetworkPolicy) => validateNetworkPolicySpec(spec),
    validateUpdate: (next: NetworkPolicy, old: NetworkPolicy) => validateNetworkPolicySpec(next.spec ?? {}, old.spec),
    ...warningHooks(({ spec = {} }: NetworkPolicy) => networkPolicyWarnings(spec)),
  },
});
