// Finds a vcluster in a connected cluster: its kubeconfig is in the Secret vc-<name> there.

import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { collectionPath, createResourceClient } from "@postern/client/resource-client";
import { badGatewayError, unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterConnections } from "./cluster-connections.ts";
import { type ClusterSource, kubeconfigIn } from "./cluster-source.ts";
import { unlessAborted } from "./pause.ts";

/** How long the content of the Secret is cached: afterwards the next request reads it again. */
const FRESH_MS = 60_000;

export function createVclusterSource(deps: {
  readonly connections: ClusterConnections;
  /** Identifies the connections of the virtual cluster: the uid of the instance. */
  readonly key: string;
  /** The namespace of its project. */
  readonly ownNamespace: string;
  /** Its host cluster. */
  readonly host: ClusterSource;
  /** Namespace there. */
  readonly namespace: string;
  /** Name of the vcluster in the cluster. */
  readonly name: string;
  /**
   * The address if its kubeconfig says localhost, as it does unless its exportKubeConfig names a server. Absent: its Service, by its name inside the
   * connected cluster.
   */
  readonly loopbackServer?: string;
  /**
   * Whether the Secret there is this instance's. The creator of an instance chooses its target, and gets all permissions in it.
   */
  readonly isOwn: (secret: KubeObject) => boolean;
  /** Whether a namespace there is a space: its users write the Secrets in it, and could name any address and any instance. */
  readonly isSpace: (namespace: KubeObject) => boolean;
  readonly clock: Clock;
}): ClusterSource {
  const { connections, key, ownNamespace, host, namespace, name, isOwn, isSpace, clock } = deps;
  const { loopbackServer = `https://${name}.${namespace}.svc` } = deps;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<ClusterConnection> | undefined;

  async function read(signal: AbortSignal): Promise<ClusterConnection> {
    const connection = await host.connect({ signal });
    const secret = await readSecret(connection, namespace, `vc-${name}`, signal);
    const found = await readNamespace(connection, namespace, signal);
    if (!isOwn(secret)) throw foreign("it belongs to another instance: its Secret is not labelled for this one");
    if (found !== undefined && isSpace(found))
      throw foreign("its namespace is a space, whose users can change its Secret");
    const own = connections.connectionOf(key, kubeconfigIn(secret), { namespace: ownNamespace, loopbackServer });
    readAt = clock.elapsed();
    return own;
  }

  function foreign(message: string): ApiError {
    connections.remove(key);
    return badGatewayError({ reason: "NotOfThisInstance", message });
  }

  /** Concurrent callers share one read. It has its own timeout, because the first caller's signal must not cancel it for others. */
  function readOnce(): Promise<ClusterConnection> {
    reading ??= read(new AbortController().signal).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    connect(caller) {
      const known = connections.known(key);
      if (known !== undefined && clock.elapsed() - readAt < FRESH_MS) return known;
      return unlessAborted(readOnce(), caller.signal).catch((error: unknown) => {
        // The host may be down while the virtual cluster is not.
        if (known !== undefined && isApiError(error, "ServiceUnavailable")) return known;
        throw error;
      });
    },
    current() {
      const known = connections.known(key);
      if (known !== undefined) return known;
      // The next request reads it.
      readOnce().catch(() => undefined);
      throw unreachableError({ reason: "NotConnectedYet", message: "looking for it" });
    },
    // Changes of its Secret are noticed by the next request, and by health checks.
    assertReached: () => host.assertReached(),
    invalidate() {
      readAt = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Undefined where the credential may not read it: then the platform has made no space there. */
async function readNamespace(
  { client }: ClusterConnection,
  name: string,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await createResourceClient(client, { group: "", version: "v1", resource: "namespaces" }).get(name, {
      signal,
    });
  } catch (error) {
    if (isApiError(error, "Forbidden")) return undefined;
    if (isApiError(error, "NotFound")) {
      throw unreachableError({ reason: "VirtualClusterNotFound", message: "its namespace has been deleted" }, error);
    }
    throw error;
  }
}

async function readSecret(
  { client }: ClusterConnection,
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<KubeObject> {
  const collection = collectionPath({ group: "", version: "v1", resource: "secrets", namespace });
  try {
    // The path returns a Secret or an error.
    return (await client.request({
      method: "GET",
      path: `${collection}/${encodeURIComponent(name)}`,
      signal,
    })) as KubeObject;
  } catch (error) {
    if (isApiError(error, "NotFound")) {
      throw unreachableError({ reason: "VirtualClusterNotFound", message: `it has no Secret ${name}` }, error);
    }
    if (isApiError(error, "Forbidden")) {
      const message = "its host cluster does not let the platform read its Secret";
      throw badGatewayError({ reason: "CredentialNotAllowed", message }, error);
    }
    throw error;
  }
}
