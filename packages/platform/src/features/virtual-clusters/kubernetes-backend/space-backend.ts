// The backend of a space: a namespace of a connected cluster, created and deleted with its instance.

import type { PlatformNames } from "@postern/api/platform-names";
import { conflictError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import type { SpaceMetadata } from "../space-metadata.ts";
import type { VirtualClusterBackend } from "../virtual-cluster-backend.ts";
import { bindRoles } from "./bind-roles.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterSource } from "./cluster-source.ts";
import { namespacedProxy } from "./namespaced-target.ts";
import { probeHealth } from "./probe-health.ts";
import { createSpaceNamespace } from "./space-namespace.ts";

/** All methods reject with ApiErrors. */
export type SpaceBackend = Pick<
  VirtualClusterBackend,
  "proxy" | "health" | "bindRoles" | "isRemote" | "assertReached" | "authenticateServiceAccount"
> & {
  /**
   * Creates the namespace if it is missing, and sets its labels and annotations. Rejects with ApiError 409 if the namespace
   * exists and belongs to something else.
   */
  provision(metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  /** Resolves with true if the namespace is deleted; deleting its content may take time. */
  remove(signal: AbortSignal): Promise<boolean>;
};

/** How long the ownership of a namespace is cached. */
const OWNED_MS = 10_000;

export function createSpaceBackend(deps: {
  /** The connected cluster. */
  readonly host: ClusterSource;
  /** In the connected cluster. */
  readonly namespace: string;
  /** Uid of the instance. Its namespace carries it as a label, and a namespace of another instance is never used. */
  readonly uid: string;
  readonly names: Pick<PlatformNames, "name" | "insideRoleGroup" | "key">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}): SpaceBackend {
  const { host, namespace, names, clock, scheduler } = deps;
  const own = createSpaceNamespace(deps);
  let ownedAt = Number.NEGATIVE_INFINITY;

  /** The creator of an instance chooses its namespace. */
  async function mustBeOurs(connection: ClusterConnection, signal: AbortSignal): Promise<void> {
    if (clock.elapsed() - ownedAt < OWNED_MS) return;
    const found = await own.find(connection, signal);
    if (found === undefined) throw unreachableError(NOT_PROVISIONED);
    if (!own.isOurs(found)) throw taken(namespace);
    ownedAt = clock.elapsed();
  }

  return {
    isRemote: true,
    assertReached: () => host.assertReached(),
    async proxy(context, user, tap) {
      const connection = await host.connect(context);
      await mustBeOurs(connection, context.signal);
      return await namespacedProxy(connection.proxy, namespace)(context, user, tap);
    },
    async provision(metadata, signal) {
      const connection = await host.connect({ signal });
      const found = await own.find(connection, signal);
      if (found === undefined) return await own.create(connection, metadata, signal);
      if (!own.isOurs(found)) throw taken(namespace);
      await own.label(connection, found, metadata, signal);
    },
    async bindRoles(clusterRoles, signal) {
      const connection = await host.connect({ signal });
      await mustBeOurs(connection, signal);
      await bindRoles(connection.client, clusterRoles, { names, namespace, scheduler }, signal);
    },
    async remove(signal) {
      const connection = await host.connect({ signal });
      ownedAt = Number.NEGATIVE_INFINITY;
      const found = await own.find(connection, signal);
      if (found === undefined || !own.isOurs(found)) return true;
      if (isBeingDeleted(found)) return false;
      await own.delete(connection, found, signal);
      return (await own.find(connection, signal)) === undefined;
    },
    async health(signal) {
      const health = await probeHealth((bounded) => host.connect({ signal: bounded }), { scheduler }, signal);
      if (!health.ready) return health;
      const found = await own.find(await host.connect({ signal }), signal);
      if (found !== undefined && own.isOurs(found)) return health;
      return { ready: false, ...NOT_PROVISIONED };
    },
  };
}

const NOT_PROVISIONED = { reason: "NotProvisioned", message: "the namespace has not been created yet" };

const taken = (namespace: string) =>
  conflictError(
    { group: "", resource: "namespaces" },
    namespace,
    "it already exists, and does not belong to this space",
  );
