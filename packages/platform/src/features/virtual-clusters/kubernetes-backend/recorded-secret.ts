// The Secret that the writer of a cluster could read: its uid is recorded with the reference, so that another one of its name is not used in its place.

import type { PlatformNames } from "@postern/api/platform-names";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { unreachableError } from "../../../foundation/upstream/upstream-failure.ts";

type Names = Pick<PlatformNames, "key" | "projectOf">;

/** The annotation of a cluster with the uid of the Secret that `spec.kubeConfigRef` named when it was written. Only the server sets it. */
export const recordedSecret = (names: Pick<Names, "key">): string => names.key("kubeconfig-secret-uid");

/**
 * Throws ApiError 503 if the Secret is another one than when the reference to it was written. Only in the namespace of a project, where
 * tenants delete and create Secrets; elsewhere administrators do, who may replace them as they like.
 */
export function checkRecordedSecret(cluster: Pick<KubeObject, "metadata">, secret: KubeObject, names: Names): void {
  const { namespace = "", name = "", uid } = secret.metadata;
  if (names.projectOf(namespace) === undefined) return;
  const annotation = recordedSecret(names);
  if (uid !== undefined && cluster.metadata.annotations?.[annotation] === uid) return;
  throw anotherSecret(`${namespace}/${name}`, cluster.metadata.name ?? "", annotation);
}

const anotherSecret = (place: string, cluster: string, annotation: string): ApiError =>
  unreachableError({
    reason: "KubeConfigReplaced",
    message:
      `the Secret ${JSON.stringify(place)} is not the one that spec.kubeConfigRef was written for, and is in the namespace of a project. ` +
      `To use it, write the reference again as somebody who may get and update the Secret: kubectl annotate --overwrite clusters/${cluster} ${annotation}=`,
  });
