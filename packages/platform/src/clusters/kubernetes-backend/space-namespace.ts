// The namespace of a space in a connected cluster: read, created, labelled and deleted with the credential of the platform.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createResourceClient } from "@postern/client/resource-client";
import type { PlatformNames } from "../../platform-names.ts";
import type { SpaceMetadata } from "../space-metadata.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { asPlatformRequest } from "./cluster-refusal.ts";

/** All methods reject with ApiErrors. */
export type SpaceNamespace = {
  find(connection: ClusterConnection, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Whether the namespace has the uid of this space. */
  isOurs(found: KubeObject): boolean;
  create(connection: ClusterConnection, metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  label(connection: ClusterConnection, metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  /** Deletes this namespace, and not another one with its name. */
  delete(connection: ClusterConnection, found: KubeObject, signal: AbortSignal): Promise<void>;
};

export type SpaceNamespaceDeps = {
  readonly namespace: string;
  /** Of the instance. */
  readonly uid: string;
  readonly names: Pick<PlatformNames, "name" | "key">;
};

export function createSpaceNamespace({ namespace, uid, names }: SpaceNamespaceDeps): SpaceNamespace {
  const ownerLabel = names.key("space-instance-uid");
  const namespacesOf = ({ client }: ClusterConnection) =>
    createResourceClient(client, { group: "", version: "v1", resource: "namespaces" });
  return {
    async find(connection, signal) {
      try {
        return await asPlatformRequest("get the namespace", namespacesOf(connection).get(namespace, { signal }));
      } catch (error) {
        if (isApiError(error) && isApiError(error.cause, "NotFound")) return undefined;
        throw error;
      }
    },
    isOurs: ({ metadata }) => metadata.labels?.[ownerLabel] === uid,
    async create(connection, metadata, signal) {
      const labels = { ...metadata.labels, [ownerLabel]: uid, "app.kubernetes.io/managed-by": names.name };
      const object = {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace, labels, annotations: { ...metadata.annotations } },
      };
      await asPlatformRequest("create the namespace", namespacesOf(connection).create(object, { signal }));
    },
    async label(connection, { labels, annotations }, signal) {
      const patch = { metadata: { labels: { ...labels }, annotations: { ...annotations } } };
      const work = namespacesOf(connection).patch(namespace, { type: "merge", patch }, { signal });
      await asPlatformRequest("label the namespace", work);
    },
    async delete(connection, { metadata: { uid: foundUid } }, signal) {
      const preconditions = foundUid === undefined ? {} : { preconditions: { uid: foundUid } };
      const work = namespacesOf(connection).delete(namespace, { signal, ...preconditions });
      await asPlatformRequest("delete the namespace", work);
    },
  };
}
