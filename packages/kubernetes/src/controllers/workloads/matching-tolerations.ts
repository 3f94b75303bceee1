// Finds the toleration of a pod that tolerates a taint.
// Source: k8s.io/api/core/v1/toleration.go (ToleratesTaint), k8s.io/kubernetes/pkg/apis/core/v1/helper (GetMatchingTolerations)

import type { Toleration } from "../../builtin/workloads/admission/tolerations.ts";
import type { Taint } from "../../builtin/workloads/nodes.ts";

/** The first one that tolerates a taint. Looked up, not compared one by one: a Node may have very many taints, and a pod as many tolerations. */
export function matchingToleration(tolerations: readonly Toleration[]): (taint: Taint) => Toleration | undefined {
  const textOf = (...parts: readonly string[]): string => parts.join("\n");
  const places = new Map<string, number>();
  for (const [place, { key = "", operator = "", value = "", effect = "" }] of tolerations.entries()) {
    const isExists = operator === "Exists";
    if (!isExists && operator !== "" && operator !== "Equal") continue;
    const text = isExists ? textOf(key, effect) : textOf(key, effect, value);
    if (!places.has(text)) places.set(text, place);
  }
  return ({ key, effect, value = "" }) => {
    const found = ["", key]
      .flatMap((name) => ["", effect].flatMap((each) => [textOf(name, each), textOf(name, each, value)]))
      .flatMap((text) => places.get(text) ?? []);
    return tolerations[Math.min(...found)];
  };
}

/** Seconds for which these tolerations bear the taints: `Infinity` for ever, -1 where they do not tolerate one of them. */
export function toleratedSeconds(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const matching = matchingToleration(tolerations);
  let seconds = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const toleration = matching(taint);
    if (toleration === undefined) return -1;
    if (toleration.tolerationSeconds !== undefined)
      seconds = Math.min(seconds, Math.max(0, Number(toleration.tolerationSeconds)));
  }
  return seconds;
}
