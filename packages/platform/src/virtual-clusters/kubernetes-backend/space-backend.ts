// Reaches a space: a namespace of a connected cluster, made and removed with the instance that it belongs to.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { conflictError, isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { createResourceClient } from "@postern/client/resource-client";
import type { PlatformNames } from "../../platform-names.ts";
import { unreachableError } from "../../proxy/upstream-failure.ts";
import type { VirtualClusterBackend } from "../virtual-cluster-backend.ts";
import { bindRoles } from "./bind-roles.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterSource } from "./cluster-source.ts";
import { namespacedProxy } from "./namespaced-target.ts";
import { asOwnRequest } from "./own-request.ts";
import { probeHealth } from "./probe-health.ts";

/** All methods reject with ApiErrors. */
export type SpaceBackend = Pick<
  VirtualClusterBackend,
  "proxy" | "health" | "bindRoles" | "isRemote" | "authenticateServiceAccount"
> & {
  /**
   * Makes the namespace where it is missing, and gives it the labels and annotations. Rejects with ApiError 409 when the namespace
   * is there and is not this space's.
   */
  provision(metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  /** Resolves with true once the namespace is gone; it takes its content along, which may last. */
  remove(signal: AbortSignal): Promise<boolean>;
};

export type SpaceMetadata = {
  readonly labels?: { readonly [key: string]: string };
  readonly annotations?: { readonly [key: string]: string };
};

export type SpaceBackendOptions = {
  /** The connected cluster. */
  readonly host: ClusterSource;
  /** In the connected cluster. */
  readonly namespace: string;
  /** Of the instance: a namespace carries it as a label, and is never taken from another. */
  readonly uid: string;
  readonly names: Pick<PlatformNames, "name" | "insideRoleGroup" | "key">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

/** How long a namespace that was this space's is taken to be still. */
const OWNED_MS = 10_000;

export function createSpaceBackend({
  host,
  namespace,
  uid,
  names,
  clock,
  scheduler,
}: SpaceBackendOptions): SpaceBackend {
  const ownerLabel = names.key("space-instance-uid");
  const isOurs = ({ metadata }: KubeObject): boolean => metadata.labels?.[ownerLabel] === uid;
  const namespacesOf = ({ client }: ClusterConnection) =>
    createResourceClient(client, { group: "", version: "v1", resource: "namespaces" });

  async function find(connection: ClusterConnection, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await asOwnRequest("look for the namespace", namespacesOf(connection).get(namespace, { signal }));
    } catch (error) {
      if (isApiError(error) && isApiError(error.cause, "NotFound")) return undefined;
      throw error;
    }
  }

  const create = (connection: ClusterConnection, metadata: SpaceMetadata, signal: AbortSignal) => {
    const labels = { ...metadata.labels, [ownerLabel]: uid, "app.kubernetes.io/managed-by": names.name };
    const object: JsonObject = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels, annotations: { ...metadata.annotations } },
    };
    return asOwnRequest("create the namespace", namespacesOf(connection).create(object, { signal }));
  };

  let ownedAt = Number.NEGATIVE_INFINITY;

  /** Whoever makes an instance chooses the namespace that it points at. */
  async function mustBeOurs(connection: ClusterConnection, signal: AbortSignal): Promise<void> {
    if (clock.elapsed() - ownedAt < OWNED_MS) return;
    const found = await find(connection, signal);
    if (found === undefined) throw unreachableError(NOT_PROVISIONED);
    if (!isOurs(found)) throw taken(namespace);
    ownedAt = clock.elapsed();
  }

  return {
    isRemote: true,
    async proxy(context, user) {
      const connection = await host.connect(context.signal);
      await mustBeOurs(connection, context.signal);
      return await namespacedProxy(connection.proxy, namespace)(context, user);
    },
    async provision(metadata, signal) {
      const connection = await host.connect(signal);
      const found = await find(connection, signal);
      if (found === undefined) {
        await create(connection, metadata, signal);
        return;
      }
      if (!isOurs(found)) throw taken(namespace);
      if (
        !covers(found.metadata.labels, metadata.labels) ||
        !covers(found.metadata.annotations, metadata.annotations)
      ) {
        const patch = { metadata: { labels: { ...metadata.labels }, annotations: { ...metadata.annotations } } };
        const work = namespacesOf(connection).patch(namespace, { type: "merge", patch }, { signal });
        await asOwnRequest("label the namespace", work);
      }
    },
    async bindRoles(clusterRoles, signal) {
      const connection = await host.connect(signal);
      await mustBeOurs(connection, signal);
      await bindRoles(connection.client, clusterRoles, { names, namespace }, signal);
    },
    async remove(signal) {
      const connection = await host.connect(signal);
      ownedAt = Number.NEGATIVE_INFINITY;
      const found = await find(connection, signal);
      if (found === undefined || !isOurs(found)) return true;
      if (isBeingDeleted(found)) return false;
      const { uid: foundUid } = found.metadata;
      const preconditions = foundUid === undefined ? {} : { preconditions: { uid: foundUid } };
      await asOwnRequest(
        "delete the namespace",
        namespacesOf(connection).delete(namespace, { signal, ...preconditions }),
      );
      return (await find(connection, signal)) === undefined;
    },
    async health(signal) {
      const health = await probeHealth((bounded) => host.connect(bounded), { scheduler }, signal);
      if (!health.ready) return health;
      const found = await find(await host.connect(signal), signal);
      if (found !== undefined && isOurs(found)) return health;
      return { ready: false, ...NOT_PROVISIONED };
    },
  };
}

const NOT_PROVISIONED = { reason: "NotProvisioned", message: "the namespace has not been made yet" };

const taken = (namespace: string) =>
  conflictError({ group: "", resource: "namespaces" }, namespace, "it is there already, and is not this space's");

const covers = (
  actual: { readonly [key: string]: string } = {},
  wanted: { readonly [key: string]: string } = {},
): boolean => Object.entries(wanted).every(([key, value]) => actual[key] === value);
