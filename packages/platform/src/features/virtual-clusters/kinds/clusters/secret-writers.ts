// Checks writers of Secrets that clusters use: the content says where the platform connects to, for all users of the cluster (ADR 203).

import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";

export type ClusterSecretDeps = {
  readonly names: Pick<PlatformNames, "managementGroup" | "projectOf">;
  readonly authorizer: Authorizer;
  /** `namespace/name` of the Secret that each cluster uses, by the name of the cluster. */
  readonly places: ReadonlyMap<string, string>;
  /** Resolves when memory shows all that the store had before the call. */
  readonly refresh: (signal: AbortSignal) => Promise<void>;
};

/** Only in the namespaces of projects: elsewhere administrators write Secrets, and what was deleted and created again is used as well. */
export function createClusterSecretAdmission(deps: ClusterSecretDeps): AdmissionPlugin {
  const { names, places, refresh } = deps;
  return {
    name: "ClusterSecret",
    async validate(attributes) {
      const { resource, operation, namespace, name, object, oldObject, context } = attributes;
      if (resource.group !== "" || resource.plural !== "secrets" || operation !== "update") return;
      if (names.projectOf(namespace) === undefined || isSameContent(object, oldObject)) return;
      // Another server may just have written the reference.
      await refresh(context.signal);
      const place = `${namespace}/${name}`;
      for (const [cluster, used] of places)
        if (used === place && !(await mayUpdate(cluster, attributes, deps)))
          throw forbiddenByAdmission(
            attributes,
            `the cluster ${JSON.stringify(cluster)} connects with it: its content may be changed by users who may update that cluster`,
          );
    },
  };
}

const isSameContent = (one: KubeObject | undefined, other: KubeObject | undefined): boolean =>
  equalJson(one?.["data"] ?? {}, other?.["data"] ?? {});

async function mayUpdate(
  name: string,
  { context: { user, credential } }: AdmissionAttributes,
  { names, authorizer }: ClusterSecretDeps,
): Promise<boolean> {
  const { verdict } = await authorizer.authorize({
    ...{ user, credential, verb: "update", apiGroup: names.managementGroup, apiVersion: "v1", resource: "clusters" },
    ...{ subresource: "", path: "", isResourceRequest: true, namespace: "", name },
  });
  return verdict === "allow";
}
