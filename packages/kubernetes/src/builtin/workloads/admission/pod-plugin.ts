// Admission of pods: plugins that look at nothing else.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { AdmissionAttributes, AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Pod } from "../pods/pods.ts";

/** `admit` returns the pod to continue with. `operations`: by default new pods alone. */
export const podPlugin = (
  name: string,
  admit: (pod: Pod, attributes: AdmissionAttributes) => Awaitable<Pod>,
  validate?: (pod: Pod, attributes: AdmissionAttributes) => void,
  operations: readonly AdmissionAttributes["operation"][] = ["create"],
): AdmissionPlugin => {
  /** Undefined where the request writes no pod. Bodies have passed their schema before admission sees them. */
  const podOf = ({ operation, subresource, object }: AdmissionAttributes): Pod | undefined =>
    operations.includes(operation) && subresource === "" ? (object as Pod | undefined) : undefined;
  return {
    name,
    resource: { group: "", resource: "pods" },
    async admit(attributes) {
      const pod = podOf(attributes);
      return pod === undefined ? attributes.object : ((await admit(pod, attributes)) as KubeObject);
    },
    ...(validate === undefined
      ? {}
      : {
          validate(attributes) {
            const pod = podOf(attributes);
            if (pod !== undefined) validate(pod, attributes);
          },
        }),
  };
};
