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
  podSelector: labelSelector,
  namespaceSelector: labelSelector,
  ipBlock: s.object({
    cidr: s.string().required(),
    except: s.list(s.string()),
  }),
});

const portFields = s.object({
  protocol: s.string().default("TCP"),
  port: s.intOrString(),
  endPort: s.int32(),
});

const policyFields = s.object({
  spec: s.object({
    podSelector: labelSelector,
    ingress: s.list(
      s.object({
        ports: s.list(portFields),
        from: s.list(peerFields),
      }),
    ),
    egress: s.list(
      s.object({
        ports: s.list(portFields),
        to: s.list(peerFields),
      }),
    ),
    policyTypes: s.list(s.string()),
  }),
});

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
