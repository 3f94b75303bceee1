// The namespace of a space in a connected cluster: read, created, labelled and deleted with the credential of the platform.

import type { PlatformNames } from "@postern/api/platform-names";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createResourceClient } from "@postern/client/resource-client";
import { carries, type SpaceMetadata } from "../space-metadata.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import { asPlatformRequest } from "./cluster-refusal.ts";

/** All methods reject with ApiErrors. */
export type SpaceNamespace = {
  find(connection: ClusterConnection, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Whether the namespace has the uid of this space. */
  isOurs(found: KubeObject): boolean;
  create(connection: ClusterConnection, metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  /** Sets what `found` lacks of the metadata. */
  label(connection: ClusterConnection, found: KubeObject, metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  /** Deletes this namespace, and not another one with its name. */
  delete(connection: ClusterConnection, found: KubeObject, signal: AbortSignal): Promise<void>;
};

/** The label of a space's namespace with the uid of the space. */
export const spaceOwnerLabel = (names: Pick<PlatformNames, "key">): string => names.key("space-instance-uid");

export function createSpaceNamespace(deps: {
  readonly namespace: string;
  /** Uid of the instance. */
  readonly uid: string;
  readonly names: Pick<PlatformNames, "name" | "key">;
}): SpaceNamespace {
  const { namespace, uid, names } = deps;
  const ownerLabel = spaceOwnerLabel(names);
  /** The tenant chooses the labels, but not whose the namespace is. */
  const withOwner = ({ labels, annotations }: SpaceMetadata) => ({
    labels: { ...labels, [ownerLabel]: uid, "app.kubernetes.io/managed-by": names.name },
    annotations: { ...annotations },
  });
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
      const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, ...withOwner(metadata) } };
      await asPlatformRequest("create the namespace", namespacesOf(connection).create(object, { signal }));
    },
    async label(connection, found, metadata, signal) {
      const wanted = withOwner(metadata);
      if (carries(found, wanted)) return;
      const work = namespacesOf(connection).patch(
        namespace,
        { type: "merge", patch: { metadata: wanted } },
        { signal },
      );
      await asPlatformRequest("label the namespace", work);
    },
    async delete(connection, { metadata: { uid: foundUid } }, signal) {
      const preconditions = foundUid === undefined ? {} : { preconditions: { uid: foundUid } };
      const work = namespacesOf(connection).delete(namespace, { signal, ...preconditions });
      await asPlatformRequest("delete the namespace", work);
    },
  };
}
