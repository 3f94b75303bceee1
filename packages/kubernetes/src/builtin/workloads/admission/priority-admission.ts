// The priority of a new pod, from its PriorityClass.
// Source: k8s.io/kubernetes/plugin/pkg/admission/priority/admission.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { podPlugin } from "./pod-plugin.ts";

type PriorityClass = KubeObject & {
  readonly value?: number;
  readonly globalDefault?: boolean;
  readonly preemptionPolicy?: string;
};
type Priority = Required<Pick<PriorityClass, "value">> & {
  readonly name: string;
  readonly preemptionPolicy?: string | undefined;
};

const PREEMPTS = "PreemptLowerPriority";
/** Classes that every cluster has. */
const SYSTEM: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
]);

const GLOBAL_DEFAULT = Buffer.from('"globalDefault":true');

export function createPriorityAdmission(classes: InstalledResource): AdmissionPlugin {
  function defaultPriority(): Priority {
    const [lowest] = classes.view
      .list(classes.keys.prefix)
      // Most are none: there may be very many, and every new pod looks for one.
      .filter((cached) => cached.mayHave(GLOBAL_DEFAULT))
      // Stored objects have passed the schema of their kind, here and below.
      .map((cached) => cached.decode() as PriorityClass)
      .filter(({ globalDefault }) => globalDefault === true)
      .toSorted((a, b) => (a.value ?? 0) - (b.value ?? 0));
    return lowest === undefined ? { name: "", value: 0, preemptionPolicy: PREEMPTS } : priorityOf(lowest);
  }

  function priorityNamed(name: string, attributes: AdmissionAttributes): Priority {
    const found = classes.view.get(classes.keys.of("", name))?.decode() as PriorityClass | undefined;
    if (found !== undefined) return priorityOf(found);
    const system = SYSTEM.get(name);
    if (system !== undefined) return { name, value: system, preemptionPolicy: PREEMPTS };
    throw forbiddenByAdmission(attributes, `no PriorityClass with name ${name} was found`);
  }

  return podPlugin("Priority", (pod, attributes) => {
    const { priorityClassName = "", priority, preemptionPolicy } = pod.spec ?? {};
    const found = priorityClassName === "" ? defaultPriority() : priorityNamed(priorityClassName, attributes);
    if (priority !== undefined && priority !== found.value) {
      throw forbiddenByAdmission(
        attributes,
        `the integer value of priority (${priority}) must not be provided in pod spec; priority admission controller computed ${found.value} from the given PriorityClass name`,
      );
    }
    const policy = found.preemptionPolicy;
    if (policy !== undefined && preemptionPolicy !== undefined && preemptionPolicy !== policy) {
      throw forbiddenByAdmission(
        attributes,
        `the string value of PreemptionPolicy (${preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${policy} from the given PriorityClass name`,
      );
    }
    return {
      ...pod,
      spec: {
        ...pod.spec,
        ...(found.name === "" ? {} : { priorityClassName: found.name }),
        priority: found.value,
        ...(policy === undefined ? {} : { preemptionPolicy: policy }),
      },
    };
  });
}

const priorityOf = ({ metadata, value = 0, preemptionPolicy }: PriorityClass): Priority => ({
  name: metadata.name ?? "",
  value,
  preemptionPolicy,
});
