// The source of the connection to a cluster: a kubeconfig in a Secret of the platform, or of its host cluster.

import type { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import type { ClusterConnection } from "./cluster-connection.ts";
import type { ClusterConnections } from "./cluster-connections.ts";
import { invalidKubeconfigError } from "./kubeconfig-target.ts";

export type ClusterSource = {
  /** Fails with an ApiError if the cluster cannot be reached, or not yet. The signal is read where another cluster has to be asked. */
  connect(caller: { readonly signal: AbortSignal }): Awaitable<ClusterConnection>;
  /** The connection, without a request to another cluster. Throws an ApiError if that is not possible. */
  current(): ClusterConnection;
  /** Throws an ApiError if the cluster is no longer connected, as far as this is known without requests. */
  assertReached(): void;
  /** The cluster refused the credential: the next connection looks for a newer one. */
  invalidate(): void;
};

export type SecretSourceDeps = {
  readonly connections: ClusterConnections;
  /** Identifies the connections of the cluster: its uid. */
  readonly key: string;
  /** The namespace of the project that it belongs to. Absent for a connected cluster. */
  readonly namespace?: string;
  /**
   * The Secret as it is now, the same object as long as it has not changed, undefined when there is none; its key, undefined for the usual ones; and its name for error messages.
   * May throw ApiErrors.
   */
  readonly find: () => {
    readonly object: KubeObject | undefined;
    readonly entry?: string | undefined;
    readonly place?: string;
  };
};

/** Usual keys of kubeconfigs in Secrets. */
const DEFAULT_ENTRIES: readonly string[] = ["config", "kubeconfig", "value"];

/** The kubeconfig is in a Secret of the platform, which is looked up for every request, so that a change takes effect immediately. */
export function createSecretSource({ connections, key, namespace, find }: SecretSourceDeps): ClusterSource {
  let known:
    | { readonly object: KubeObject | undefined; readonly entry: string | undefined; readonly text: string }
    | undefined;
  function kubeConfig(): string {
    const { object, entry, place } = find();
    if (known !== undefined && known.object === object && known.entry === entry) return known.text;
    const text = kubeconfigIn(object, entry, place);
    known = { object, entry, text };
    return text;
  }
  const current = (): ClusterConnection => connections.connectionOf(key, kubeConfig(), { namespace });
  return { current, connect: current, assertReached: () => void current(), invalidate() {} };
}

/** The kubeconfig in a Secret. Throws ApiError 503 if it is missing, 502 if it is not valid UTF-8. */
export function kubeconfigIn(secret: KubeObject | undefined, entry?: string, place?: string): string {
  const named = place === undefined ? "the Secret" : `the Secret ${JSON.stringify(place)}`;
  if (secret === undefined) throw noKubeconfigError(`${named} with its kubeconfig does not exist`);
  // The schema of Secrets ensures that data is a map of base64 strings.
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
