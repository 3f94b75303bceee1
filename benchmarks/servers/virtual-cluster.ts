// The virtual cluster that every new server has, and one that others run, with a key for each.

import type { Target } from "../load/order.ts";
import { GROUP } from "./access-key-object.ts";
import { askText } from "./ask-text.ts";

const PROJECT = "/kubernetes/project/default/virtualcluster";
const INSTANCES = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances`;
const REMOTE = "remote";
const CONFIG_MAPS_OF_A_CLUSTER = "/api/v1/namespaces/default/configmaps";

/** The path of that one. */
export const REMOTE_CLUSTER = `${PROJECT}/${REMOTE}`;
export const INSTANCE = `${INSTANCES}/demo`;
export const CONFIG_MAPS = `${PROJECT}/demo${CONFIG_MAPS_OF_A_CLUSTER}`;
export const REMOTE_CONFIG_MAPS = `${PROJECT}/${REMOTE}${CONFIG_MAPS_OF_A_CLUSTER}`;

/** Lets a server connect to clusters on this machine. */
export const ALLOW_REMOTE_CLUSTERS: readonly string[] = ["--proxy-allowed-addresses", "127.0.0.0/8"];

/** The server for the holder of a kubeconfig of the virtual cluster. */
export const openVirtualCluster = (target: Target): Promise<Target> => withKeyFor(target, INSTANCE);

/** Makes `upstream` an external virtual cluster of the server, which needs `ALLOW_REMOTE_CLUSTERS`. Returns the server for the holder of its kubeconfig. */
export async function openRemoteCluster(target: Target, upstream: Target): Promise<Target> {
  const kubeConfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": REMOTE,
    contexts: [{ name: REMOTE, context: { cluster: REMOTE, user: REMOTE } }],
    clusters: [
      {
        name: REMOTE,
        cluster: {
          server: upstream.url,
          "certificate-authority-data": Buffer.from(upstream.ca ?? "").toString("base64"),
        },
      },
    ],
    users: [{ name: REMOTE, user: { token: upstream.token } }],
  };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `vc-${REMOTE}` },
    stringData: { config: JSON.stringify(kubeConfig) },
  };
  const instance = {
    apiVersion: `${GROUP}/v1`,
    kind: "VirtualClusterInstance",
    metadata: { name: REMOTE },
    spec: { external: true, template: { accessPoint: { ingress: { enabled: true } } } },
  };
  await askText(target, "POST", "/api/v1/namespaces/p-default/secrets", JSON.stringify(secret));
  await askText(target, "POST", INSTANCES, JSON.stringify(instance));
  return withKeyFor(target, `${INSTANCES}/${REMOTE}`);
}

async function withKeyFor(target: Target, instance: string): Promise<Target> {
  const answer = JSON.parse(await askText(target, "POST", `${instance}/kubeconfig`, "{}"));
  const token = /token: (\S+)/.exec(answer.status.kubeConfig)?.[1];
  if (token === undefined) throw new Error("the kubeconfig has no token");
  return { ...target, token };
}
