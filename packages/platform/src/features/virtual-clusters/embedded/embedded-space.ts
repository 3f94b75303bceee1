// A space on the built-in cluster: an embedded cluster of its own, of which one namespace is visible.

import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createWhenAbsent, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import { isPermissionSubset } from "../kubernetes-backend/namespaced-target.ts";
import type { SpaceBackend } from "../kubernetes-backend/space-backend.ts";
import { carries, type SpaceMetadata } from "../space-metadata.ts";
import { createEmbeddedBackend, type EmbeddedBackendDeps } from "./embedded-backend.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

/** `uid` is that of the instance; `namespace` is the visible name of the namespace. */
export function createEmbeddedSpace(deps: EmbeddedBackendDeps, uid: string, namespace: string): SpaceBackend {
  const { clusters, runtime } = deps;
  const backend = createEmbeddedBackend(deps, uid);
  return {
    ...(backend.authenticateServiceAccount === undefined
      ? {}
      : { authenticateServiceAccount: backend.authenticateServiceAccount }),
    isRemote: false,
    health: backend.health,
    bindRoles: backend.bindRoles,

    async proxy(context, user) {
      if (!isPermissionSubset(context.info, context.request.method, namespace)) {
        throw forbiddenPathError(`this space has only namespace ${JSON.stringify(namespace)}`);
      }
      return await backend.proxy(context, user);
    },

    async provision(metadata, signal) {
      await backend.provision(signal);
      await keepNamespace(await clusters.open(uid), metadata, signal);
    },

    async remove(signal) {
      await clusters.remove(uid, signal);
      return true;
    },
  };

  async function keepNamespace(cluster: EmbeddedCluster, metadata: SpaceMetadata, signal: AbortSignal): Promise<void> {
    const namespaces = cluster.resource("", "Namespace");
    const { clock } = runtime;
    const wanted = { name: namespace, ...metadata };
    await createWhenAbsent(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: wanted }, clock, signal);
    const current = namespaces.view.get(namespaces.keys.of("", namespace))?.decode();
    if (current === undefined || carries(current, metadata)) return;
    const transform = (object: KubeObject): KubeObject => withMetadata(object, metadata);
    await updateControlled({ runtime }, namespaces, { metadata: { name: namespace } }, { transform }, signal);
  }
}

/** Labels and annotations of others are kept. */
const withMetadata = (object: KubeObject, { labels, annotations }: SpaceMetadata): KubeObject => ({
  ...object,
  metadata: {
    ...object.metadata,
    labels: { ...object.metadata.labels, ...labels },
    annotations: { ...object.metadata.annotations, ...annotations },
  },
});
