// KubeconfigGenerators: Secrets with kubeconfigs for the virtual clusters of a project.

import { type KubeconfigGenerator, kubeconfigGeneratorFields } from "@postern/api/kubeconfig-generator";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { readyMessageColumn, readyText } from "../../../../foundation/kinds/state-columns.ts";
import { type GeneratorStrategyDeps, kubeconfigGeneratorStrategy } from "./strategy.ts";

export const kubeconfigGenerators = (deps: GeneratorStrategyDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "KubeconfigGenerator",
    plural: KUBECONFIG_GENERATORS,
    shortNames: ["kcg"],
    namespaced: true,
    schema: kindSchema(kubeconfigGeneratorFields.schema),
    // The strategy keeps clients from writing it.
    hasStatus: true,
    columns: [
      { name: "Secret", type: "string", description: "Name of the Secret.", value: ".spec.secretRef.name" },
      { name: "Format", type: "string", description: "Format of the Secret.", value: formatText },
      { name: "Creator", type: "string", description: "Owner of the credentials.", value: ".status.creator.name" },
      { name: "Selected", type: "integer", description: "Selected virtual clusters.", value: ".status.selected" },
      { name: "Current", type: "integer", description: "Those with a current credential.", value: ".status.ready" },
      { name: "Ready", type: "string", description: "Ready, or the reason why it is not.", value: readyText },
      readyMessageColumn,
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: kubeconfigGeneratorStrategy(deps) as Strategy,
  });

export const KUBECONFIG_GENERATORS = "kubeconfiggenerators";

// The registry gives a column only objects that its schema has checked.
const formatText = (generator: KubeObject): string => (generator as KubeconfigGenerator).spec.format ?? "Kubeconfig";
