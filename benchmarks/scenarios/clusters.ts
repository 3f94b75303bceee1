// ConfigMaps of virtual clusters, through the proxy, with the key of a kubeconfig.

import { CONFIG_MAPS, REMOTE_CONFIG_MAPS } from "../servers/virtual-cluster.ts";
import { NUMBERS_PER_RUN, type Scenario, WARM_UP_REQUESTS } from "./scenario.ts";

const BODY = JSON.stringify({ metadata: { name: "map-{n}" }, data: { text: "x".repeat(400) } });
const BYTES = 700;

const create: Scenario = {
  name: "ConfigMap CREATE, embedded cluster",
  // In two threads: each compiles the code for itself.
  warmUpRequests: WARM_UP_REQUESTS,
  order({ kind, cluster, target, seconds, run }) {
    if (kind === "peer" || (kind === "postern" && cluster === undefined)) return undefined;
    return {
      kind: "load",
      target: cluster ?? target,
      protocol: "h2",
      inFlight: 64,
      seconds,
      request: {
        method: "POST",
        path: kind === "bare" ? `/bytes/${BYTES}` : CONFIG_MAPS,
        body: BODY,
        firstNumber: run * NUMBERS_PER_RUN,
      },
    };
  },
};

/** `where`: the cluster that is read from. `path`: of a ConfigMap there, and of the same bytes on the bare server. */
const get = (
  name: string,
  where: "cluster" | "remote",
  path: { readonly postern: string; readonly bare: string },
): Scenario => ({
  name,
  warmUpRequests: 10_000,
  order({ kind, target, seconds, ...clusters }) {
    const inside = clusters[where];
    if (kind === "peer" || (kind === "postern" && inside === undefined)) return undefined;
    const request = { method: "GET", path: path[kind] };
    return { kind: "load", target: inside ?? target, protocol: "h2", inFlight: 32, seconds, request };
  },
});

export const CLUSTERS: readonly Scenario[] = [
  // The root certificates that every namespace of a cluster has.
  get("ConfigMap GET, embedded cluster", "cluster", {
    postern: `${CONFIG_MAPS}/kube-root-ca.crt`,
    bare: `/bytes/${BYTES}`,
  }),
  // From a cluster that others run: the bare server.
  get("ConfigMap GET, remote cluster", "remote", {
    postern: `${REMOTE_CONFIG_MAPS}/bytes-${BYTES}`,
    bare: `/bytes-${BYTES}`,
  }),
  create,
];
