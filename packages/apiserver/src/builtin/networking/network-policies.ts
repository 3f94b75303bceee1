// NetworkPolicies: who may talk to which pods. Kept as they are: no traffic goes through this server.
// Source: k8s.io/kubernetes/pkg/registry/networking/networkpolicy/strategy.go, pkg/apis/networking/validation/validation.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath, notSupportedError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { labelSelectorText } from "../workloads/selector-text.ts";

const peerFields = s.object({
  podSelector: labelSelector.describe("Pods with these labels."),
  namespaceSelector: labelSelector.describe("Namespaces with these labels."),
  ipBlock: s
    .object({
      cidr: s.string().required().describe("The network."),
      except: s.list(s.string()).describe("Parts of it that are not meant."),
    })
    .describe("Addresses."),
});

const portFields = s.object({
  protocol: s.string().default("TCP").describe("TCP, UDP or SCTP. Absent: TCP."),
  port: s.intOrString().describe("Number or name of the port. Absent: all ports."),
  endPort: s.int32().describe("The last of several ports."),
});

const policyFields = s
  .object({
    spec: s
      .object({
        podSelector: labelSelector.describe("The pods it is about. Empty: all of the namespace."),
        ingress: s
          .list(
            s.object({
              ports: s.list(portFields).describe("To these ports. Absent: all."),
              from: s.list(peerFields).describe("From these. Absent: from everywhere."),
            }),
          )
          .describe("What may come in."),
        egress: s
          .list(
            s.object({
              ports: s.list(portFields).describe("To these ports. Absent: all."),
              to: s.list(peerFields).describe("To these. Absent: to everywhere."),
            }),
          )
          .describe("What may go out."),
        policyTypes: s.list(s.string()).describe("Ingress, Egress or both."),
      })
      .describe("What is allowed."),
  })
  .describe("Which traffic pods may have.");

type NetworkPolicy = KindOf<typeof policyFields>;
const TYPES = ["Egress", "Ingress"];

const validatePolicy = ({ spec }: NetworkPolicy): readonly FieldError[] =>
  (spec?.policyTypes ?? []).flatMap((type, index) =>
    TYPES.includes(type) ? [] : [notSupportedError(indexPath("spec.policyTypes", index), type, TYPES)],
  );

function withTypes(object: KubeObject): KubeObject {
  // Bodies of built-in kinds have passed their types by now.
  const { spec } = object as NetworkPolicy;
  if (spec === undefined || (spec.policyTypes ?? []).length > 0) return object;
  const policyTypes = (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
  return { ...object, spec: { ...spec, policyTypes } };
}

export const networkPolicies: ResourceDefinition = defineBuiltin({
  group: "networking.k8s.io",
  version: "v1",
  kind: "NetworkPolicy",
  plural: "networkpolicies",
  singular: "networkpolicy",
  shortNames: ["netpol"],
  namespaced: true,
  tracksGeneration: true,
  schema: kindSchema(policyFields.schema),
  columns: [
    {
      name: "Pod-Selector",
      type: "string",
      description: "The pods it is about.",
      value: (object) => labelSelectorText((object as NetworkPolicy).spec?.podSelector),
    },
    ageColumn,
  ],
  setDefaults: withTypes,
  strategy: { allowUnconditionalUpdate: true, validate: validatePolicy, validateUpdate: validatePolicy },
});
