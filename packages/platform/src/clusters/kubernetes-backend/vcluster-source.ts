// Finds a vcluster in a connected cluster: its kubeconfig is in the Secret vc-<name> there.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { collectionPath } from "@postern/client/resource-client";
import { badGatewayError, unreachableError } from "../../proxy/upstream-failure.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterConnections } from "./cluster-connections.ts";
import { type ClusterSource, kubeconfigIn } from "./cluster-source.ts";
import { unlessAborted } from "./pause.ts";

export type VclusterSourceDeps = {
  readonly connections: ClusterConnections;
  /** Identifies the connections of the virtual cluster: the uid of the instance. */
  readonly key: string;
  /** Its host cluster. */
  readonly host: ClusterSource;
  /** Namespace there. */
  readonly namespace: string;
  /** Of the vcluster there. */
  readonly name: string;
  /**
   * Where it is reached when its kubeconfig says localhost, which it does unless its exportKubeConfig names a server. Absent: its
   * Service, by the name it has inside the connected cluster.
   */
  readonly loopbackServer?: string;
  /**
   * Whether the Secret there is this instance's. The creator of an instance chooses its target, and gets all permissions in it.
   */
  readonly isOwn: (secret: KubeObject) => boolean;
  readonly clock: Clock;
};

/** How long the content of the Secret is cached: afterwards the next request reads it again. */
const FRESH_MS = 60_000;

export function createVclusterSource(deps: VclusterSourceDeps): ClusterSource {
  const { connections, key, host, namespace, name, isOwn, clock } = deps;
  const { loopbackServer = `https://${name}.${namespace}.svc` } = deps;
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<ClusterConnection> | undefined;

  async function read(signal: AbortSignal): Promise<ClusterConnection> {
    const secret = await readSecret(await host.connect(signal), namespace, `vc-${name}`, signal);
    if (!isOwn(secret)) {
      connections.remove(key);
      const message = "it belongs to another instance: its Secret is not labelled for this one";
      throw badGatewayError({ reason: "NotOfThisInstance", message });
    }
    const connection = connections.connectionOf(key, kubeconfigIn(secret), loopbackServer);
    readAt = clock.elapsed();
    return connection;
  }

  /** Concurrent callers share one read. It has its own timeout, because the first caller's signal must not cancel it for others. */
  function readOnce(): Promise<ClusterConnection> {
    reading ??= read(new AbortController().signal).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    async connect(signal) {
      const known = connections.known(key);
      if (known !== undefined && clock.elapsed() - readAt < FRESH_MS) return known;
      try {
        return await unlessAborted(readOnce(), signal);
      } catch (error) {
        // The host may be down while the virtual cluster is not.
        if (known !== undefined && isApiError(error, "ServiceUnavailable")) return known;
        throw error;
      }
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
