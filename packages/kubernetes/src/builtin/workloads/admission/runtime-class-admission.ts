// A new pod takes overhead, node selector and tolerations from its RuntimeClass.
// Source: k8s.io/kubernetes/plugin/pkg/admission/runtimeclass/admission.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { quantityText } from "../../quotas/quantities.ts";
import type { PodSpec } from "../pods/pod-fields.ts";
import type { Pod } from "../pods/pods.ts";
import { podPlugin } from "./pod-plugin.ts";
import { mergeTolerations, type Toleration } from "./tolerations.ts";

type Amounts = { readonly [resource: string]: JsonValue };
type RuntimeClass = KubeObject & {
  readonly overhead?: { readonly podFixed?: Amounts };
  readonly scheduling?: {
    readonly nodeSelector?: { readonly [label: string]: string };
    readonly tolerations?: readonly Toleration[];
  };
};

const OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

export function createRuntimeClassAdmission(classes: InstalledResource): AdmissionPlugin {
  function classOf({ spec }: Pod, attributes: AdmissionAttributes): RuntimeClass | undefined {
    const name = spec?.runtimeClassName;
    if (name === undefined) return undefined;
    // Stored objects have passed the schema of their kind.
    const found = classes.view.get(classes.keys.of("", name))?.decode() as RuntimeClass | undefined;
    if (found !== undefined) return found;
    throw forbiddenByAdmission(attributes, `pod rejected: RuntimeClass ${quoteGo(name)} not found`);
  }

  return podPlugin(
    "RuntimeClass",
    (pod, attributes) => {
      const found = classOf(pod, attributes);
      if (found === undefined) return pod;
      const { overhead, scheduling } = found;
      const given = pod.spec?.overhead ?? {};
      if (overhead !== undefined && Object.keys(given).length > 0 && !isSame(given, overhead.podFixed))
        throw forbiddenByAdmission(attributes, OTHER_OVERHEAD);
      return {
        ...pod,
        spec: {
          ...pod.spec,
          ...(overhead?.podFixed === undefined ? {} : { overhead: overhead.podFixed }),
          ...(scheduling === undefined ? {} : schedulingOf(pod.spec ?? {}, scheduling, attributes)),
        },
      };
    },
    (pod, attributes) => {
      const overhead = classOf(pod, attributes)?.overhead;
      const given = pod.spec?.overhead;
      if (overhead !== undefined && !isSame(given, overhead.podFixed))
        throw forbiddenByAdmission(attributes, OTHER_OVERHEAD);
      if (overhead === undefined && given !== undefined) {
        throw forbiddenByAdmission(
          attributes,
          "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
        );
      }
    },
  );
}

function schedulingOf(
  { nodeSelector: own, tolerations = [] }: PodSpec,
  { nodeSelector = {}, tolerations: added = [] }: NonNullable<RuntimeClass["scheduling"]>,
  attributes: AdmissionAttributes,
): Pick<PodSpec, "nodeSelector" | "tolerations"> {
  for (const [key, value] of Object.entries(nodeSelector)) {
    const chosen = own?.[key];
    if (chosen === undefined || chosen === value) continue;
    throw forbiddenByAdmission(
      attributes,
      `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${chosen}`,
    );
  }
  const selector = { ...own, ...nodeSelector };
  const merged = mergeTolerations(tolerations, added);
  return {
    ...(Object.keys(selector).length === 0 ? {} : { nodeSelector: selector }),
    ...(merged.length === 0 ? {} : { tolerations: merged }),
  };
}

/** The same amounts, in whatever unit. */
function isSame(one: Amounts = {}, other: Amounts = {}): boolean {
  const amount = (amounts: Amounts, name: string) => parseAmount(quantityText(amounts[name]));
  return [...Object.keys(one), ...Object.keys(other)].every((name) => amount(one, name) === amount(other, name));
}
