// Objects that a cluster keeps in every namespace.

import type { KeptObject } from "./namespace-object-controller.ts";

export const DEFAULT_SERVICE_ACCOUNT: KeptObject = {
  kind: "ServiceAccount",
  name: "default",
  wanted: () => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } }),
};

/** The CA certificates that verify the server, which may be replaced while it runs. */
export type RootAuthority = {
  /** PEM; undefined: clients are expected to trust the server without. */
  readonly pem: string | undefined;
  onChange(listener: () => void): Disposable;
};

export const rootCertificateAuthority = (authority: RootAuthority): KeptObject => ({
  kind: "ConfigMap",
  name: "kube-root-ca.crt",
  wanted: () =>
    authority.pem === undefined
      ? undefined
      : {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: {
            name: "kube-root-ca.crt",
            annotations: {
              "kubernetes.io/description": "The certificates that verify the API server of this cluster.",
            },
          },
          data: { "ca.crt": authority.pem },
        },
  onChange: (listener) => authority.onChange(listener),
});
