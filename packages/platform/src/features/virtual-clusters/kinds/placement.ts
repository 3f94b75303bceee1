// Where instances of a project may be placed, and the default placement.

import { isClosedCluster } from "@postern/api/cluster";
import { allowsCluster } from "@postern/api/project";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { Foundation } from "../../../foundation/foundation.ts";

/**
 * The faults of an instance in `namespace` that is to live in `cluster`, or in none of the platform's where it need not. The cluster may
 * come later.
 */
export function validatePlacement(
  namespace: string,
  cluster: string,
  { names, lookup }: Pick<Foundation, "names" | "lookup">,
  { isOptional = false }: { readonly isOptional?: boolean } = {},
): readonly FieldError[] {
  const name = names.projectOf(namespace);
  const project = name === undefined ? undefined : lookup.project(name);
  if (project === undefined) {
    return [invalidError("metadata.namespace", namespace, "must be the namespace of a project")];
  }
  if (cluster === "") return isOptional ? [] : [requiredError("spec.clusterRef.cluster")];
  if (!allowsCluster(project, cluster)) {
    return [
      forbiddenError(
        "spec.clusterRef.cluster",
        `project ${JSON.stringify(name)} may not use cluster ${JSON.stringify(cluster)}: add it to spec.allowedClusters of the project`,
      ),
    ];
  }
  const found = lookup.cluster(cluster);
  // A missing cluster is only worth a warning.
  if (found === undefined || !isClosedCluster(found)) return [];
  return [
    forbiddenError(
      "spec.clusterRef.cluster",
      `cluster ${JSON.stringify(cluster)} accepts no new instances: it is marked as unusable`,
    ),
  ];
}

/**
 * The verdict of `judge` on other objects. Another server or thread may have changed one of them a moment ago, so that it judges again once memory
 * shows what the store has.
 */
export async function currentFaults(
  judge: () => readonly FieldError[],
  { lookup }: Pick<Foundation, "lookup">,
  signal: AbortSignal,
): Promise<readonly FieldError[]> {
  const faults = judge();
  if (faults.length === 0) return faults;
  await lookup.refresh(signal);
  return judge();
}

/** Instances do not move between clusters. */
export const validateSamePlacement = (clusterRef: JsonObject, old: JsonObject): readonly FieldError[] =>
  equalJson(clusterRef, old) ? [] : [invalidError("spec.clusterRef", clusterRef, "field is immutable")];
