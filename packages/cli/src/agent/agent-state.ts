// The state of an agent: the address of the platform, its CA, and the key. In a Secret that all replicas share, or in a file.

import { chmod, readFile } from "node:fs/promises";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { replaceFile } from "@postern/client/kubeconfig-file";
import { createResourceClient } from "@postern/client/resource-client";
import type { OwnCluster } from "./own-cluster.ts";

/** All members are texts, as in a Secret. */
export type AgentState = {
  readonly server?: string;
  /** PEM; absent for the public CAs. */
  readonly "ca.crt"?: string;
  /** The one-time value, until it has been exchanged. */
  readonly join?: string;
  readonly key?: string;
  /** RFC 3339. */
  readonly "key-made"?: string;
  /** RFC 3339; absent for a key without an end. */
  readonly "key-expires"?: string;
  /** "token": the agent's ServiceAccount is known at the platform, and its tokens are exchanged for keys that no state has. */
  readonly identity?: string;
  /** With an identity: the Cluster, or the VirtualClusterInstance in the namespace. */
  readonly cluster?: string;
  readonly namespace?: string;
  /** RFC 3339: until then one replica replaces the key, and others leave it alone. */
  readonly "key-claimed"?: string;
};

const MEMBERS = [
  ...(["server", "ca.crt", "join", "key", "key-made", "key-expires", "key-claimed"] as const),
  ...(["identity", "cluster", "namespace"] as const),
];

export type AgentStore = {
  read(): Promise<AgentState>;
  /** Writes these members; undefined removes one. Resolves with false where the state has changed since the last read. */
  write(changes: { readonly [member in keyof AgentState]: AgentState[member] | undefined }): Promise<boolean>;
};

/** A Secret that exists: the manifests of the agent create it. */
export function createSecretStore({ client, namespace }: OwnCluster, name: string): AgentStore {
  const secrets = createResourceClient(client, { group: "", version: "v1", resource: "secrets", namespace });
  let known: KubeObject | undefined;
  return {
    async read() {
      known = await secrets.get(name);
      const data = isJsonObject(known["data"]) ? known["data"] : {};
      return stateOf((member) => {
        const value = data[member];
        return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
      });
    },
    async write(changes) {
      if (known === undefined) throw new Error("the Secret has not been read");
      const data: { [name: string]: string } = { ...(known["data"] as JsonObject as { [name: string]: string }) };
      for (const [member, value] of Object.entries(changes)) {
        if (value === undefined) delete data[member];
        else data[member] = Buffer.from(value, "utf8").toString("base64");
      }
      try {
        // With its resourceVersion: another replica may be first.
        known = await secrets.replace({ ...known, data });
        return true;
      } catch (error) {
        if (isApiError(error, "Conflict")) return false;
        throw error;
      }
    },
  };
}

/** For development: one process. */
export function createFileStore(path: string): AgentStore {
  let state: AgentState = {};
  return {
    async read() {
      try {
        const found: unknown = JSON.parse(await readFile(path, "utf8"));
        const members = isJsonObject(found) ? found : {};
        state = stateOf((member) => (typeof members[member] === "string" ? members[member] : undefined));
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
      }
      return state;
    },
    async write(changes) {
      state = stateOf((member) => (member in changes ? changes[member] : state[member]));
      await replaceFile(path, `${JSON.stringify(state, undefined, 2)}\n`, 0o600);
      await chmod(path, 0o600);
      return true;
    },
  };
}

function stateOf(read: (member: keyof AgentState) => string | undefined): AgentState {
  const entries = MEMBERS.map((member) => [member, read(member)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== ""));
}
