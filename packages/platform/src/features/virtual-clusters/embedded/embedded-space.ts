// A space on the built-in cluster: an embedded cluster of its own, of which one namespace is visible.

import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import { isPermissionSubset } from "../kubernetes-backend/namespaced-target.ts";
import type { SpaceBackend } from "../kubernetes-backend/space-backend.ts";
import { createEmbeddedBackend, type EmbeddedBackendDeps } from "./embedded-backend.ts";

/** `uid` is that of the instance; `namespace` is the visible name of the namespace. */
export function createEmbeddedSpace(deps: EmbeddedBackendDeps, uid: string, namespace: string): SpaceBackend {
  const { clusters } = deps;
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
      await (await clusters.open(uid)).keepNamespace(namespace, metadata, signal);
    },

    async remove(signal) {
      await clusters.remove(uid, signal);
      return true;
    },
  };
}
