// Where instances of a project may be placed, and the default placement.

import { isClosedCluster } from "@postern/api/cluster";
import { allowsCluster, type Project } from "@postern/api/project";
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
export async function validatePlacement(
  namespace: string,
  cluster: string,
  { names, lookup }: Pick<Foundation, "names" | "lookup">,
  { signal, isOptional = false }: { readonly signal: AbortSignal; readonly isOptional?: boolean },
): Promise<readonly FieldError[]> {
  const name = names.projectOf(namespace);
  const project = name === undefined ? undefined : await newestProject(name, lookup, signal);
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

/** The project may have been made through another server a moment ago. */
async function newestProject(
  name: string,
  lookup: Foundation["lookup"],
  signal: AbortSignal,
): Promise<Project | undefined> {
  const known = lookup.project(name);
  if (known !== undefined) return known;
  await lookup.refresh(signal);
  return lookup.project(name);
}

/** Instances do not move between clusters. */
export const validateSamePlacement = (clusterRef: JsonObject, old: JsonObject): readonly FieldError[] =>
  equalJson(clusterRef, old) ? [] : [invalidError("spec.clusterRef", clusterRef, "field is immutable")];
