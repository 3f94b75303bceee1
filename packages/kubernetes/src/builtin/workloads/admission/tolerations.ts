// Tolerations that pods get, and which of several says the same as another.
// Source: k8s.io/kubernetes/pkg/util/tolerations/tolerations.go, plugin/pkg/admission/defaulttolerationseconds/admission.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { PodSpec } from "../pods/pod-fields.ts";
import { podPlugin } from "./pod-plugin.ts";

export type Toleration = NonNullable<PodSpec["tolerations"]>[number];

/** Where one tolerates all that another does, only the wider one is kept. */
export function mergeTolerations(first: readonly Toleration[], second: readonly Toleration[]): readonly Toleration[] {
  const all = [...first, ...second];
  const merged: Toleration[] = [];
  for (const [index, each] of all.entries()) {
    const isRepeated = merged.some((known) => isSuperset(known, each));
    const isCovered = all.slice(index + 1).some((later) => !isSame(each, later) && isSuperset(later, each));
    if (!isRepeated && !isCovered) merged.push(each);
  }
  return merged;
}

const isSame = (a: Toleration, b: Toleration): boolean => equalJson(a, b);

function isSuperset(wide: Toleration, narrow: Toleration): boolean {
  if (isSame(wide, narrow)) return true;
  const [key, operator, effect] = [wide.key ?? "", wide.operator ?? "", wide.effect ?? ""];
  if ((narrow.key ?? "") !== key && (key !== "" || operator !== "Exists")) return false;
  if ((narrow.effect ?? "") !== effect && effect !== "") return false;
  if (effect === "NoExecute") {
    if (wide.tolerationSeconds !== undefined) {
      if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false;
    }
  }
  if (operator === "" || operator === "Equal")
    return (narrow.operator ?? "") === operator && narrow.value === wide.value;
  return operator === "Exists";
}

/** Seconds for which a pod stays on a node that is away. */
const SECONDS = 300;
const NO_EXECUTE = "NoExecute";
const TAINTS = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

export const tolerationAdmission: AdmissionPlugin = podPlugin(
  "DefaultTolerationSeconds",
  (pod) => {
    const { tolerations = [] } = pod.spec ?? {};
    const isTolerated = (taint: string): boolean =>
      tolerations.some(
        ({ key = "", effect = "" }) => (key === "" || key === taint) && (effect === "" || effect === NO_EXECUTE),
      );
    const added = TAINTS.filter((taint) => !isTolerated(taint)).map((key) => ({
      key,
      operator: "Exists",
      effect: NO_EXECUTE,
      tolerationSeconds: SECONDS,
    }));
    return added.length === 0 ? pod : { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, ...added] } };
  },
  undefined,
  ["create", "update"],
);
