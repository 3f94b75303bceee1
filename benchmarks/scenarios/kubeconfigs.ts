// Kubeconfigs for the virtual cluster that a new server comes with.

import { GROUP } from "../servers/access-key-object.ts";
import type { Scenario } from "./scenario.ts";

const PATH = `/apis/${GROUP}/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`;

const kubeConfig = (name: string, clientCert: boolean, bytes: number): Scenario => ({
  name,
  order: ({ kind, target, seconds }) =>
    kind === "peer"
      ? undefined
      : {
          kind: "load",
          target,
          protocol: "h2",
          inFlight: 32,
          seconds,
          request: {
            method: "POST",
            path: kind === "bare" ? `/bytes/${bytes}` : PATH,
            body: JSON.stringify({ spec: { clientCert } }),
          },
        },
});

export const KUBE_CONFIGS: readonly Scenario[] = [
  kubeConfig("Kubeconfig with a token", false, 2_000),
  kubeConfig("Kubeconfig with a certificate", true, 4_000),
];
