// Where the instances of a project may live, and where they do when their specs do not say.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  notFoundFieldError,
} from "@postern/apimachinery/validation/field-error";
import type { PlatformNames } from "../platform-names.ts";
import type { ObjectLookup } from "./object-lookup.ts";
import { allowsCluster } from "./projects/allowed-clusters.ts";

export type PlacementDeps = {
  readonly names: Pick<PlatformNames, "projectOf">;
  readonly lookup: Pick<ObjectLookup, "project" | "cluster">;
};

/** The faults of an instance in `namespace` that is to live in `cluster`, or in none of the platform's where it need not. */
export function validatePlacement(
  namespace: string,
  cluster: string,
  { names, lookup }: PlacementDeps,
  { isOptional = false } = {},
): readonly FieldError[] {
  const name = names.projectOf(namespace);
  const project = name === undefined ? undefined : lookup.project(name);
  if (project === undefined) {
    return [invalidError("metadata.namespace", namespace, "must be the namespace of a project")];
  }
  if (cluster === "" && isOptional) return [];
  if (!allowsCluster(project, cluster)) {
    return [
      forbiddenError(
        "spec.clusterRef.cluster",
        `project ${JSON.stringify(name)} may not use cluster ${JSON.stringify(cluster)}: add it to spec.allowedClusters of the project`,
      ),
    ];
  }
  return lookup.cluster(cluster) === undefined ? [notFoundFieldError("spec.clusterRef.cluster", cluster)] : [];
}

/** What lives in a cluster does not move to another. */
export const validateSamePlacement = (clusterRef: JsonObject, old: JsonObject): readonly FieldError[] =>
  equalJson(clusterRef, old) ? [] : [invalidError("spec.clusterRef", clusterRef, "field is immutable")];
