// What a cluster keeps in every namespace.

import type { NamespaceObject } from "./namespace-object-controller.ts";

export const DEFAULT_SERVICE_ACCOUNT: NamespaceObject["object"] = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "default" },
};

/** `certificateAuthority`: PEM of what verifies the server. */
export const rootCertificateAuthority = (certificateAuthority: string): NamespaceObject["object"] => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "kube-root-ca.crt",
    annotations: { "kubernetes.io/description": "The certificates that verify the API server of this cluster." },
  },
  data: { "ca.crt": certificateAuthority },
});
