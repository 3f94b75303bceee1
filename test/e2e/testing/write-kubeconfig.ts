// A kubeconfig of one cluster and one token, for kubectl, helm and agents.

import { writeFile } from "node:fs/promises";

export type KubeconfigContents = {
  readonly server: string;
  readonly token: string;
  /** Path of a PEM file; absent for plain HTTP. */
  readonly caFile?: string;
  readonly namespace?: string;
};

/** Returns the path. */
export async function writeKubeconfig(
  path: string,
  { server, token, caFile, namespace }: KubeconfigContents,
): Promise<string> {
  const cluster = { server, ...(caFile === undefined ? {} : { "certificate-authority": caFile }) };
  const context = { cluster: "c", user: "c", ...(namespace === undefined ? {} : { namespace }) };
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "c", cluster }],
    contexts: [{ name: "c", context }],
    users: [{ name: "c", user: { token } }],
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
