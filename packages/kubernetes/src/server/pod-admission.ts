// The admission of pods in a cluster that stores them, in upstream's order.
// Source: k8s.io/kubernetes/pkg/kubeapiserver/options/plugins.go

import { generateName } from "@postern/apimachinery/names/generate-name";
import type { AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createLimitAdmission } from "../builtin/workloads/admission/limit-admission.ts";
import { createPriorityAdmission } from "../builtin/workloads/admission/priority-admission.ts";
import { createRuntimeClassAdmission } from "../builtin/workloads/admission/runtime-class-admission.ts";
import { createServiceAccountAdmission } from "../builtin/workloads/admission/service-account-admission.ts";
import { tolerationAdmission } from "../builtin/workloads/admission/tolerations.ts";
import { requiredResource } from "./required-resource.ts";

/** `hasTokens`: ServiceAccounts get tokens, and each namespace has one of its own. */
export const podAdmission = (
  registry: ResourceRegistry,
  { scheduler, random }: Pick<Runtime, "scheduler" | "random">,
  hasTokens: boolean,
): readonly AdmissionPlugin[] => [
  createLimitAdmission(requiredResource(registry, "", "LimitRange")),
  ...(hasTokens
    ? [
        createServiceAccountAdmission({
          accounts: requiredResource(registry, "", "ServiceAccount"),
          volumeName: (prefix) => generateName(prefix, random),
          pause: (ms) => new Promise((resolve) => void scheduler.schedule(ms, resolve)),
        }),
      ]
    : []),
  createPriorityAdmission(requiredResource(registry, "scheduling.k8s.io", "PriorityClass")),
  tolerationAdmission,
  createRuntimeClassAdmission(requiredResource(registry, "node.k8s.io", "RuntimeClass")),
];
