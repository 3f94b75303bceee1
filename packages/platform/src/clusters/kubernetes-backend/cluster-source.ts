// Where the connection to a cluster comes from: a kubeconfig in a Secret of the platform, or of its host cluster.

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { unreachableError } from "../../proxy/upstream-failure.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterConnections } from "./cluster-connections.ts";
import { invalidKubeconfigError } from "./kubeconfig-target.ts";

export type ClusterSource = {
  /** Rejects with an ApiError where the cluster cannot be reached, or not yet. */
  connect(signal: AbortSignal): Promise<ClusterConnection>;
  /** The connection without asking anybody else for it. Throws an ApiError where that is not possible. */
  current(): ClusterConnection;
  /** Throws an ApiError where nothing leads to it any more, as far as this is known here. */
  assertReached(): void;
  /** The cluster has refused the credential: the next one that connects looks for a newer one. */
  invalidate(): void;
};

export type SecretSourceDeps = {
  readonly connections: ClusterConnections;
  /** Names the cluster among the connections: its uid. */
  readonly key: string;
  /**
   * The Secret as it is now, undefined when there is none; its entry, undefined for the usual one; and the place that error texts name.
   * May throw ApiErrors.
   */
  readonly find: () => {
    readonly object: KubeObject | undefined;
    readonly entry?: string | undefined;
    readonly place?: string;
  };
};

/** Entries that kubeconfigs are kept under, by convention. */
const DEFAULT_ENTRIES: readonly string[] = ["config", "kubeconfig", "value"];

/** The kubeconfig is in a Secret of the platform, and is looked at for every request, so that a change counts at once. */
export function createSecretSource({ connections, key, find }: SecretSourceDeps): ClusterSource {
  const current = (): ClusterConnection => {
    const { object, entry, place } = find();
    return connections.connectionOf(key, kubeconfigIn(object, entry, place));
  };
  return { current, connect: async () => current(), assertReached: () => void current(), invalidate() {} };
}

/** The text of a kubeconfig in a Secret. Throws ApiError 503 when there is none, 502 when it is no text. */
export function kubeconfigIn(secret: KubeObject | undefined, entry?: string, place?: string): string {
  const named = place === undefined ? "the Secret" : `the Secret ${JSON.stringify(place)}`;
  if (secret === undefined) throw noKubeconfigError(`${named} with its kubeconfig does not exist`);
  // A Secret's data is a map of texts in base64, which its schema has checked.
  const data = (secret["data"] ?? {}) as { readonly [entry: string]: unknown };
  const entries = entry === undefined || entry === "" ? DEFAULT_ENTRIES : [entry];
  const found = entries.find((name) => Object.hasOwn(data, name));
  const value = found === undefined ? undefined : data[found];
  if (typeof value !== "string" || value === "") {
    throw noKubeconfigError(`${named} with its kubeconfig has no key ${JSON.stringify(entries[0])}`);
  }
  const text = Buffer.from(value, "base64").toString("utf8");
  if (text.includes("\ufffd")) throw invalidKubeconfigError("the kubeconfig is not valid UTF-8");
  return text;
}

const noKubeconfigError = (message: string): ApiError => unreachableError({ reason: "KubeConfigNotFound", message });
