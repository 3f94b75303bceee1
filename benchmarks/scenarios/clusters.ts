// ConfigMaps of virtual clusters, through the proxy, with the key of a kubeconfig.

import { CONFIG_MAPS, REMOTE_CONFIG_MAPS } from "../servers/virtual-cluster.ts";
import { NUMBERS_PER_RUN, type Scenario } from "./scenario.ts";

const BODY = JSON.stringify({ metadata: { name: "map-{n}" }, data: { text: "x".repeat(400) } });
const BYTES = 700;

const create: Scenario = {
  name: "ConfigMap CREATE, embedded cluster",
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

/** The root certificates that every namespace of a cluster has. */
const get: Scenario = {
  name: "ConfigMap GET, embedded cluster",
  order: ({ kind, cluster, target, seconds }) =>
    kind === "peer" || (kind === "postern" && cluster === undefined)
      ? undefined
      : {
          kind: "load",
          target: cluster ?? target,
          protocol: "h2",
          inFlight: 32,
          seconds,
          request: {
            method: "GET",
            path: kind === "bare" ? `/bytes/${BYTES}` : `${CONFIG_MAPS}/kube-root-ca.crt`,
          },
        },
};

/** From a cluster that others run: the bare server. */
const getRemote: Scenario = {
  name: "ConfigMap GET, remote cluster",
  warmUpRequests: 10_000,
  order: ({ kind, remote, target, seconds }) =>
    kind === "peer" || (kind === "postern" && remote === undefined)
      ? undefined
      : {
          kind: "load",
          target: remote ?? target,
          protocol: "h2",
          inFlight: 32,
          seconds,
          request: { method: "GET", path: `${kind === "bare" ? "" : REMOTE_CONFIG_MAPS}/bytes-${BYTES}` },
        },
};

export const CLUSTERS: readonly Scenario[] = [get, getRemote, create];
