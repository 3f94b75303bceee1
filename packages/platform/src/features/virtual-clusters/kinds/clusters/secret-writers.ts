// Checks writers of Secrets that clusters use: the content says where the platform connects to, for all users of the cluster (ADR 203).

import type { Cluster } from "@postern/api/cluster";
import type { PlatformNames } from "@postern/api/platform-names";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { followView } from "@postern/apiserver/cache/view-informer";
import {
  type AdmissionAttributes,
  type AdmissionPlugin,
  forbiddenByAdmission,
} from "@postern/apiserver/registry/admission-plugin";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { mayDo } from "../../../../foundation/kinds/may-do.ts";
import { followingValues } from "../../../../foundation/lookup/follow-values.ts";
import type { Authorization } from "../../../authorization/feature.ts";
import { secretOf } from "./strategy.ts";

/**
 * Only in the namespaces of projects: elsewhere administrators write Secrets, and what was deleted and created again is used as well. Follows the
 * Secrets that clusters name, until disposed.
 */
export function openClusterSecretAdmission(
  { names, objects, runtime, lookup }: Foundation,
  { authorization: { authorizer } }: { readonly authorization: Authorization },
): AdmissionPlugin & Disposable {
  /** `namespace/name` of the Secret that each cluster uses, by the name of the cluster. */
  const places = new Map<string, string>();
  const following = followView(
    objects("clusters"),
    runtime.scheduler,
    followingValues<Cluster, string>(places, (cluster) => {
      const place = secretOf(cluster);
      return [cluster.metadata.name ?? "", place && `${place.namespace}/${place.name}`];
    }),
  );
  return {
    name: "ClusterSecret",
    resource: { group: "", resource: "secrets" },
    async validate(attributes) {
      const { operation, namespace, name, object, oldObject, context } = attributes;
      if (operation !== "update") return;
      if (names.projectOf(namespace) === undefined || isSameContent(object, oldObject)) return;
      // Another server may just have written the reference.
      await lookup.refresh(context.signal);
      const place = `${namespace}/${name}`;
      for (const [cluster, used] of places)
        if (used === place && !(await mayUpdate(cluster, attributes, names, authorizer)))
          throw forbiddenByAdmission(
            attributes,
            `the cluster ${JSON.stringify(cluster)} connects with it: its content may be changed by users who may update that cluster`,
          );
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

const isSameContent = (one: KubeObject | undefined, other: KubeObject | undefined): boolean =>
  equalJson(one?.["data"] ?? {}, other?.["data"] ?? {});

const mayUpdate = (
  name: string,
  { context }: AdmissionAttributes,
  { managementGroup: apiGroup }: PlatformNames,
  authorizer: Authorizer,
): Promise<boolean> => mayDo(context, { verb: "update", apiGroup, resource: "clusters", name }, authorizer);
