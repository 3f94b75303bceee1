// The conditions of a terminating namespace: the progress of its deletion.
// Source: k8s.io/kubernetes/pkg/controller/namespace/deletion/status_condition_utils.go

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { RemainingContent } from "./delete-namespace-content.ts";

type Verdict = readonly [status: "True" | "False", reason: string, message: string];

/** The conditions of the five kinds, with the time of the last change kept where the status is the same as before. */
export function namespaceConditions(
  content: Pick<RemainingContent, "counts" | "finalizers" | "errors">,
  previous: JsonValue | undefined,
  now: string,
): readonly JsonObject[] {
  const known = isJsonArray(previous) ? previous.filter(isJsonObject) : [];
  const verdicts: { readonly [type: string]: Verdict } = {
    NamespaceDeletionDiscoveryFailure: ["False", "ResourcesDiscovered", "All resources successfully discovered"],
    NamespaceDeletionGroupVersionParsingFailure: [
      "False",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ],
    NamespaceDeletionContentFailure: deletionVerdict(content.errors),
    NamespaceContentRemaining: remainingVerdict(content.counts),
    NamespaceFinalizersRemaining: finalizersVerdict(content.finalizers),
  };
  return Object.entries(verdicts).map(([type, [status, reason, message]]) => {
    const before = known.find((condition) => condition["type"] === type);
    const lastTransitionTime = before?.["status"] === status ? (before["lastTransitionTime"] ?? now) : now;
    return { type, status, lastTransitionTime, reason, message };
  });
}

const deletionVerdict = (errors: readonly string[]): Verdict =>
  errors.length === 0
    ? ["False", "ContentDeleted", "All content successfully deleted, may be waiting on finalization"]
    : [
        "True",
        "ContentDeletionFailed",
        `Failed to delete all resource types, ${errors.length} remaining: ${[...errors].sort().join(", ")}`,
      ];

const remainingVerdict = (counts: ReadonlyMap<string, number>): Verdict =>
  counts.size === 0
    ? ["False", "ContentRemoved", "All content successfully removed"]
    : ["True", "SomeResourcesRemain", `Some resources are remaining: ${listOf(counts, "has")}`];

const finalizersVerdict = (finalizers: ReadonlyMap<string, number>): Verdict =>
  finalizers.size === 0
    ? ["False", "ContentHasNoFinalizers", "All content-preserving finalizers finished"]
    : [
        "True",
        "SomeFinalizersRemain",
        `Some content in the namespace has finalizers remaining: ${listOf(finalizers, "in")}`,
      ];

const listOf = (counts: ReadonlyMap<string, number>, verb: string): string =>
  [...counts]
    .map(([name, count]) => `${name} ${verb} ${count} resource instances`)
    .sort()
    .join(", ");
